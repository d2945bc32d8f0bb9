/** `run-job --attached`: the job of a user who waits for it. The log goes to standard output, and the job ends when standard input does. */
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '@windlass/kit'
import { printLog } from './print-log.ts'
import { runJob, type RunJobOptions } from './run-job.ts'
import { FILES } from './shell-loop.ts'

export interface AttachedContext {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly input: Readable
  readonly output: Writable
}

/** Runs the job. Resolves when its log is printed. */
export async function runAttached(
  folders: Pick<RunJobOptions, 'programFolder' | 'exchangeFolder'>,
  { clock, signal, input, output }: AttachedContext,
): Promise<void> {
  // The command of the user has ended, however it did.
  const left = new AbortController()
  input
    .on('end', () => left.abort())
    .on('error', () => left.abort())
    .resume()
  const ended = new AbortController()
  const printed = printLog({ path: join(folders.exchangeFolder, FILES.log), output, clock, ended: ended.signal })
  try {
    await runJob({ ...folders, clock, signal, canceled: AbortSignal.any([signal, left.signal]) })
  } finally {
    ended.abort()
    await printed
    input.destroy()
  }
}
