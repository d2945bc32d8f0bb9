/** Keeps a job whose stages have ended while a user has a terminal in it. The manager marks an open terminal with a file. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '@windlass/kit'
import type { JobLog } from './job-log.ts'
import { FILES } from './shell-loop.ts'

export interface TerminalWait {
  readonly exchangeFolder: string
  readonly log: Pick<JobLog, 'write'>
  readonly clock: Clock
  /** Longest time to wait. Milliseconds. */
  readonly timeoutMs: number
  /** Aborted when the job is canceled. */
  readonly canceled: AbortSignal
}

/** How often the mark is looked for. Milliseconds. */
const LOOK_MS = 200

/** Resolves when no terminal is open, the time is over, or the job is canceled. The log of the job says that it waits, and why it ends. */
export async function waitForTerminal({ exchangeFolder, log, clock, timeoutMs, canceled }: TerminalWait): Promise<void> {
  const isOpen = (): boolean => existsSync(join(exchangeFolder, FILES.terminal))
  const say = (text: string): void => log.write('executor', Buffer.from(`${text}\n`))
  if (!isOpen() || canceled.aborted) return
  const limit = `${Math.round(timeoutMs / 1_000)} s`
  say(`A terminal is open. The job ends when it is closed, at the latest after ${limit}.`)
  const until = clock.monotonic() + timeoutMs
  while (isOpen() && !canceled.aborted && clock.monotonic() < until) await clock.sleep(LOOK_MS, canceled).catch(() => undefined)
  if (canceled.aborted) say('The job is canceled, and its terminal is closed.')
  else say(isOpen() ? `The terminal was still open after ${limit}, and is closed.` : 'The terminal is closed.')
}
