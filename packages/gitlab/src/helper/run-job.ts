/** `run-job`: the main process of the helper. It runs the job, and then waits until the manager has read the log and removes the pod. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '@windlass/kit'
import { openJobLog, type JobLog } from './job-log.ts'
import { PROGRAM_FILE, readProgram, type JobProgram } from './program.ts'
import { FILES } from './shell-loop.ts'
import { superviseJob } from './supervise.ts'

export interface RunJobOptions {
  readonly programFolder: string
  readonly exchangeFolder: string
  readonly clock: Clock
  /** Aborted when the pod is being deleted. */
  readonly signal: AbortSignal
  /** Aborted to cancel the job, in addition to the mark in the exchange folder. */
  readonly canceled?: AbortSignal
}

/** How often the mark of a cancellation is looked for. Milliseconds. */
const CANCEL_LOOK_MS = 200

/** Runs the job of the program. Resolves when its log has the end. */
export async function runJob({ programFolder, exchangeFolder, clock, signal, ...given }: RunJobOptions): Promise<void> {
  const program = readProgram(readFileSync(join(programFolder, PROGRAM_FILE)))
  const logFile = join(exchangeFolder, FILES.log)
  // A helper that starts again cannot know what its job has done. The manager sees that the container has ended.
  if (existsSync(logFile)) throw new Error('the job has already been started')
  const log = openJobLog(logFile, () => clock.now() * 1_000)
  execFileSync('mkfifo', ['-m', '666', join(exchangeFolder, FILES.commands)])
  const marked = new AbortController()
  const over = new AbortController()
  void watchCancel({ exchangeFolder, clock, cancel: () => marked.abort(), signal: AbortSignal.any([signal, over.signal]) })
  const canceled = given.canceled === undefined ? marked.signal : AbortSignal.any([marked.signal, given.canceled])
  try {
    await waitForServices(program.healthChecks, { log, clock, signal: AbortSignal.any([signal, canceled]) })
    await superviseJob({
      stages: program.stages,
      exchangeFolder,
      environmentFile: program.environmentFile,
      log,
      clock,
      timeoutMs: program.timeoutMs,
      terminalMs: program.terminalMs,
      canceled,
    })
  } finally {
    over.abort()
    log.close()
  }
}

async function watchCancel(options: {
  readonly exchangeFolder: string
  readonly clock: Clock
  readonly cancel: () => void
  readonly signal: AbortSignal
}): Promise<void> {
  const { exchangeFolder, clock, cancel, signal } = options
  while (!signal.aborted) {
    if (existsSync(join(exchangeFolder, FILES.canceled))) return cancel()
    await clock.sleep(CANCEL_LOOK_MS, signal).catch(() => undefined)
  }
}

/** Longest wait for the port of a service, as the original waits. Milliseconds. */
const SERVICE_MS = 60_000
const DIAL_MS = 100

/** Waits for the ports of services. The log names a service that does not answer in time, and the job continues. */
async function waitForServices(
  checks: JobProgram['healthChecks'],
  { log, clock, signal }: { readonly log: JobLog; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const until = clock.monotonic() + SERVICE_MS
  for (const { service, port } of checks) {
    while (!signal.aborted && !(await accepts(port)) && clock.monotonic() < until)
      await clock.sleep(DIAL_MS, signal).catch(() => undefined)
    if (clock.monotonic() < until || signal.aborted) continue
    const seconds = SERVICE_MS / 1_000
    const text = `WARNING: The service ${service} does not accept connections on port ${port} after ${seconds} s. The job continues.`
    log.write('executor', Buffer.from(`\u001B[33;1m${text}\u001B[0;m\n`))
  }
}

/** Resolves to whether a port of this pod accepts connections. */
export function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host: '127.0.0.1', port, timeout: 1_000 })
  const end = (isOpen: boolean) => (): void => {
    socket.destroy()
    resolve(isOpen)
  }
  socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false))
  return promise
}
