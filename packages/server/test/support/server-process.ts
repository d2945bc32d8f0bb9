/** The server as a process that a test kills and starts again. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { retry, systemClock } from '@windlass/kit'
import type { Client } from '@windlass/protocol'
import { NODE_OPTIONS, programFile } from '../../../../e2e/support/programs.ts'

/** Starts a server with settings without their prefix: `{ DATA_DIR: … }`. Standard error that is a pipe has to be read. */
export function runServer(env: Record<string, string>, stderr: 'ignore' | 'pipe' = 'ignore'): ChildProcess {
  const settings = Object.fromEntries(Object.entries(env).map(([key, value]) => [`WINDLASS_SERVER_${key}`, value]))
  return spawn(process.execPath, [...NODE_OPTIONS, programFile('server')], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'ignore', stderr],
  })
}

/** Waits until the server answers. Throws if it does not within minutes, or ends before. */
export async function ready(client: Client, child: ChildProcess): Promise<void> {
  const retryIf = (): boolean => child.exitCode === null && child.signalCode === null
  await retry({ clock: systemClock, baseMs: 50, maxMs: 200, tries: 1_000, retryIf }, () => client.text('GET', '/readyz'))
}

/** Sends a signal. Resolves with the exit code when the process has ended; null if the signal ended it. */
export async function killed(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
  return child.exitCode
}
