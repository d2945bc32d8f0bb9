/** Keeps a job whose stages have ended while a user has a terminal in it. The manager marks an open terminal with a file of the helper. */
import { existsSync } from 'node:fs'
import type { Clock } from '@windlass/kit'
import type { JobLog } from './job-log.ts'

/**
 * Exists while a user has a terminal, which the end of the job waits for. It is in the file system of the helper, and not in a shared folder, where the job could make
 * something in its place that cannot be removed.
 */
export const TERMINAL_MARK = '/tmp/windlass-terminal-open'

export interface TerminalWait {
  /** Path of the mark. */
  readonly mark: string
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
export async function waitForTerminal({ mark, log, clock, timeoutMs, canceled }: TerminalWait): Promise<void> {
  const isOpen = (): boolean => existsSync(mark)
  const say = (text: string): void => log.write('executor', Buffer.from(`${text}\n`))
  if (!isOpen() || canceled.aborted) return
  const limit = `${Math.round(timeoutMs / 1_000)} s`
  say(`A terminal is open. The job ends when it is closed, at the latest after ${limit}.`)
  const until = clock.monotonic() + timeoutMs
  while (isOpen() && !canceled.aborted && clock.monotonic() < until) await clock.sleep(LOOK_MS, canceled).catch(() => undefined)
  if (canceled.aborted) say('The job is canceled, and its terminal is closed.')
  else say(isOpen() ? `The terminal was still open after ${limit}, and is closed.` : 'The terminal is closed.')
}
