/** Containers that end as soon as they start, and starts that have to be made again: their output is whole. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDocker, type Docker } from '../src/index.ts'
import type { ContainerSpec } from '../src/docker/containers.ts'
import { runContainer } from '../src/steps/run-container.ts'
import { image } from './support/images.ts'

const CONTAINERS = process.env['WINDLASS_TEST_LONG'] === '1' ? 600 : 80
const AT_ONCE = 4

let docker: Docker
let folder: string

beforeAll(async () => {
  docker = await openDocker({ env: process.env })
  folder = await mkdtemp(join(tmpdir(), 'windlass-start-'))
})
afterAll(async () => {
  docker.close()
  await rm(folder, { recursive: true, force: true })
})

async function outputOf(through: Docker, spec: Partial<ContainerSpec>, input?: Uint8Array): Promise<string> {
  let id = ''
  const said: Buffer[] = []
  const run = {
    docker: through,
    clock: systemClock,
    spec: {
      image: image('shell'),
      environment: [],
      labels: {},
      mounts: [],
      network: 'none',
      stdin: input !== undefined,
      ...spec,
    },
    onOutput: async (parts: readonly { readonly bytes: Buffer }[]) => void said.push(...parts.map(({ bytes }) => bytes)),
    signal: new AbortController().signal,
    graceMs: 1_000,
    ...(input !== undefined && { input }),
  }
  try {
    const { exitCode } = await runContainer(run, (created) => (id = created))
    expect(exitCode).toBe(0)
    return Buffer.concat(said).toString()
  } finally {
    if (id !== '') await docker.removeContainer(id)
  }
}

test('a container that says one line and ends at once is heard every time', async () => {
  const lost: number[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let n = next++; n < CONTAINERS; n = next++) {
      const said = await outputOf(docker, { command: ['echo', `line ${n}`] })
      if (said !== `line ${n}\n`) lost.push(n)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  expect(lost).toEqual([])
}, 300_000)

const MISSING = 'no such file or directory'
/** What runc says now and then in a nested daemon, padded to the same length. */
const PASSING = 'connection reset by peer'.padEnd(MISSING.length)

/**
 * A port in front of the daemon. The program of the container is missing at the first start, which the daemon therefore fails; before
 * the answer goes on, the program is written and the reason replaced by the one that passes.
 */
async function startFront(program: string): Promise<{ host: string; failed: () => number; close: () => void }> {
  let failed = 0
  const server = createServer({ allowHalfOpen: true }, (front) => {
    const back = connect({ path: '/var/run/docker.sock', allowHalfOpen: true })
    for (const [from, to] of [[front, back] as const, [back, front] as const]) {
      from.on('error', () => to.destroy())
      from.on('end', () => to.end())
    }
    front.on('data', (chunk) => back.write(chunk))
    back.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1')
      if (!text.includes('runc create failed')) return void front.write(chunk)
      failed += 1
      void writeFile(program, '#!/bin/sh\ncat\necho heard\n', { mode: 0o755 }).then(() =>
        front.write(Buffer.from(text.replace(MISSING, PASSING), 'latin1')),
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { host: `tcp://127.0.0.1:${port}`, failed: () => failed, close: () => server.close() }
}

test.each([
  { what: 'without input', input: undefined, heard: 'heard\n' },
  { what: 'with input', input: Buffer.from('asked\n'), heard: 'asked\nheard\n' },
])('what a container says after a start that was made again is heard, $what', async ({ what, input, heard }) => {
  const program = join(folder, what.replace(' ', '-'))
  const front = await startFront(program)
  const through = await openDocker({ env: { DOCKER_HOST: front.host } })
  try {
    const mounts = [{ type: 'bind' as const, source: folder, target: '/programs', readOnly: false }]
    const entrypoint = [`/programs/${what.replace(' ', '-')}`]
    expect(await outputOf(through, { entrypoint, mounts }, input)).toBe(heard)
    expect(front.failed()).toBe(1)
  } finally {
    through.close()
    front.close()
  }
})
