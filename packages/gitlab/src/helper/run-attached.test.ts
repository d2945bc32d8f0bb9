/** A job whose helper prints its log, with the shell of a build container: two processes that share a folder. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { decodeFrames } from './job-log.ts'
import { pack, PROGRAM_FILE, type JobProgram } from './program.ts'
import { runAttached } from './run-attached.ts'
import { startLoop } from '../../test/support/start-loop.ts'

interface Attached {
  readonly input: PassThrough
  readonly done: Promise<void>
  /** Output so far. */
  text(): string
  frames(): { readonly kind: string; readonly text: string }[]
}

function startJob(scripts: readonly string[], highWaterMark = 16_384): Attached {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-attached-'))
  const [programFolder, exchangeFolder] = [join(folder, 'program'), join(folder, 'exchange')]
  for (const path of [programFolder, exchangeFolder]) mkdirSync(path)
  const stage = { title: '', container: 'build', when: 'on_success', attempts: 1, isFatal: true } as const
  const program: JobProgram = {
    version: 1,
    stages: scripts.map((script, n) => ({ ...stage, name: `step_${n}`, script })),
    environmentFile: join(folder, 'env'),
    timeoutMs: 60_000,
    healthChecks: [],
  }
  writeFileSync(join(programFolder, PROGRAM_FILE), pack(program))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  startLoop(exchangeFolder)
  const input = new PassThrough()
  const output = new PassThrough({ highWaterMark })
  const parts: Buffer[] = []
  output.on('data', (bytes: Buffer) => parts.push(bytes))
  const signal = new AbortController().signal
  return {
    input,
    done: runAttached({ programFolder, exchangeFolder }, { clock: systemClock, signal, input, output }),
    text: () => Buffer.concat(parts).toString(),
    frames: () => decodeFrames(Buffer.concat(parts)).frames.map(({ kind, bytes }) => ({ kind, text: bytes.toString() })),
  }
}

test('prints the whole log, also for a slow reader, and ends with the job', async () => {
  const job = startJob(['echo one', 'i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done'], 64)
  await job.done
  const frames = job.frames()
  const work = frames.flatMap(({ kind, text }) => (kind === 'work' ? [text] : [])).join('')
  expect(work.startsWith('one\nline 0\n')).toBe(true)
  expect(work.endsWith('line 19999\n')).toBe(true)
  expect(JSON.parse(frames.at(-1)?.text ?? '')).toEqual({ type: 'end', result: { state: 'success' } })
})

test('a job whose user has left is canceled', async () => {
  const job = startJob(['echo begun; sleep 1000'])
  await expect.poll(() => job.text()).toContain('begun')
  job.input.end()
  await job.done
  expect(JSON.parse(job.frames().at(-1)?.text ?? '')).toMatchObject({
    type: 'end',
    result: { state: 'failed', reason: 'job_canceled' },
  })
})
