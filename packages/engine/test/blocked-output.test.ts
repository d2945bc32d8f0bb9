/** Tests that a container loses no output when it ends while its output cannot be passed on. */
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runContainer } from '../src/containers/run-container.ts'
import { openDocker, type Docker } from '../src/index.ts'
import { shellSpec } from './support/shell-spec.ts'

let docker: Docker

beforeAll(async () => {
  docker = await openDocker({ env: process.env })
})
afterAll(() => docker.close())

interface Blocked {
  readonly command: string
  /** Called for each part of the output, before the next one is taken. */
  readonly take: (bytes: number, id: string) => Promise<void>
  readonly signal?: AbortSignal
}

/** Runs a shell. Returns the exit code. */
async function run({ command, take, signal = new AbortController().signal }: Blocked): Promise<number> {
  let id = ''
  try {
    const { exitCode } = await runContainer(
      {
        docker,
        clock: systemClock,
        spec: shellSpec({ init: true, entrypoint: ['sh', '-c', command] }),
        onOutput: (parts, until) => {
          const taken = take(
            parts.reduce((sum, { bytes }) => sum + bytes.length, 0),
            id,
          )
          return until === undefined ? taken : Promise.race([taken, aborted(until)])
        },
        signal,
        graceMs: 1_000,
      },
      (created) => (id = created),
    )
    return exitCode
  } finally {
    if (id !== '') await docker.removeContainer(id)
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** The daemon drops the output of an ended container after two seconds. Milliseconds. */
const BLOCKED_MS = 4_000
/** What is on the way when the container ends fills the buffers of the daemon and of the connection, more or less. */
const SIZES = Array.from({ length: 12 }, (_, n) => 1_228_800 + n * 32_768)

test('receives all output of containers that end while it is blocked', async () => {
  const got = await Promise.all(
    SIZES.map(async (size) => {
      let sum = 0
      let isBlocked = false
      const code = await run({
        command: `head -c ${size} /dev/zero`,
        async take(bytes) {
          sum += bytes
          if (isBlocked) return
          isBlocked = true
          await sleep(BLOCKED_MS)
        },
      })
      return { code, sum }
    }),
  )
  expect(got).toEqual(SIZES.map((sum) => ({ code: 0, sum })))
})

test('pauses a container while its output is blocked, and lets it go on', async () => {
  const lines: boolean[] = []
  const code = await run({
    command: 'echo first; sleep 1; echo second',
    async take(_bytes, id) {
      if (lines.length === 0) await expect.poll(() => isPaused(id)).toBe(true)
      lines.push(await isPaused(id))
    },
  })
  expect([code, lines]).toEqual([0, [true, false]])
})

test('stops a container that is paused', async () => {
  const stop = new AbortController()
  const reason = new Error('stopped')
  let paused = ''
  const ended = run({
    command: 'echo first; sleep 1000',
    async take(_bytes, id) {
      paused = id
      await expect.poll(() => isPaused(id)).toBe(true)
      stop.abort(reason)
      await new Promise(() => undefined)
    },
    signal: stop.signal,
  })
  await expect(ended).rejects.toBe(reason)
  expect(await docker.listContainers([]).then((all) => all.map(({ id }) => id))).not.toContain(paused)
})

async function isPaused(id: string): Promise<boolean> {
  const { stdout } = await promisify(execFile)('docker', ['inspect', '--format', '{{.State.Paused}}', id])
  return stdout.trim() === 'true'
}
