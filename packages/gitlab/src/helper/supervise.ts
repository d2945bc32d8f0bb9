/**
 * Runs the stages of a job, in the helper: its own as processes, those of the build container through the pipe of the shell there. The results and the output go
 * to the log of the job.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined, type Clock } from '@windlass/kit'
import type { Stage } from '../job/stage.ts'
import type { JobLog } from './job-log.ts'
import { FILES } from './shell-loop.ts'
import { TERMINAL_MARK, waitForTerminal } from './wait-for-terminal.ts'

export interface SupervisorOptions {
  readonly stages: readonly Stage[]
  readonly exchangeFolder: string
  /** File whose lines become variables of later stages: `$GITLAB_ENV`. */
  readonly environmentFile: string
  readonly log: JobLog
  readonly clock: Clock
  /** Time limit of the stages before `after_script`. Milliseconds. */
  readonly timeoutMs: number
  /** Time from TERM to KILL for a stage that has to end. Milliseconds. */
  readonly graceMs?: number
  /** Aborted when the job is canceled: what runs is stopped, and the stages that always run still run. */
  readonly canceled: AbortSignal
  /** Longest time for which the end of the job waits for a terminal. Milliseconds. Default: the job has no terminals. */
  readonly terminalMs?: number | undefined
  /** Path of the mark of an open terminal, overridden in tests. */
  readonly terminalMark?: string
}

export type JobResult =
  | { readonly state: 'success' }
  | {
      readonly state: 'failed'
      readonly reason: 'script_failure' | 'runner_system_failure' | 'job_execution_timeout' | 'job_canceled'
      readonly stage: string
      readonly exitCode?: number | undefined
      /** Time limit of the stage, if the stage took longer than its own limit. Seconds. */
      readonly limitS?: number | undefined
    }

/** How a stage ended. */
interface Ended {
  readonly code: number
  readonly why?: 'timeout' | 'canceled'
}

const GRACE_MS = 10_000
/** How often files that another container writes are looked at. Milliseconds. */
const LOOK_MS = 20

/** Runs the job. Resolves to its result, which is also the last frame of the log. */
export async function superviseJob(options: SupervisorOptions): Promise<JobResult> {
  const { stages, log, canceled } = options
  const output = openOutput(options)
  const commands = openCommands(options.exchangeFolder)
  let result: JobResult = { state: 'success' }
  const deadline = options.clock.monotonic() + options.timeoutMs
  for (const [number, stage] of stages.entries()) {
    if (result.state === 'success' && canceled.aborted) result = { state: 'failed', reason: 'job_canceled', stage: stage.name }
    if (!runs(stage, result)) continue
    if (stage.name === 'after_script') appendFileSync(options.environmentFile, `CI_JOB_STATUS=${statusOf(result)}\n`)
    // What follows a failure has its own time, so that a job that took too long still saves what it has.
    const limitMs =
      result.state === 'success' && stage.when !== 'always' ? deadline - options.clock.monotonic() : options.timeoutMs
    const ownMs = stage.timeoutMs !== undefined && stage.timeoutMs < limitMs ? stage.timeoutMs : undefined
    const ended = await runStage({ ...options, output, commands }, { stage, number, limitMs: ownMs ?? limitMs })
    if (ended.code === 0 || result.state === 'failed') continue
    if (stage.isFatal || ended.why !== undefined) result = failureOf(stage, ended, ownMs)
  }
  output.rest()
  const { terminalMs, terminalMark: mark = TERMINAL_MARK } = options
  if (terminalMs !== undefined) await waitForTerminal({ ...options, mark, timeoutMs: terminalMs })
  log.control({ type: 'end', result })
  commands.send('end')
  await waitForLoop(options)
  commands.close()
  return result
}

/** Longest wait for a shell that has not begun to read, at the end of the job. Milliseconds. */
const LOOP_MS = 2_000

/** Waits until the loop has the pipe open, because what is in a pipe that nobody has open is lost. */
async function waitForLoop({ exchangeFolder, clock }: SupervisorOptions): Promise<void> {
  const until = clock.monotonic() + LOOP_MS
  while (!existsSync(join(exchangeFolder, FILES.ready)) && clock.monotonic() < until) await clock.sleep(LOOK_MS)
}

function runs({ when }: Stage, { state }: JobResult): boolean {
  if (when === 'always') return true
  return when === (state === 'success' ? 'on_success' : 'on_failure')
}

function failureOf(stage: Stage, { code, why }: Ended, ownMs: number | undefined): JobResult {
  if (why === 'timeout') {
    const limitS = ownMs === undefined ? undefined : ownMs / 1_000
    return { state: 'failed', reason: 'job_execution_timeout', stage: stage.name, ...defined({ limitS }) }
  }
  if (why === 'canceled') return { state: 'failed', reason: 'job_canceled', stage: stage.name }
  const isWork = stage.container === 'build'
  return { state: 'failed', reason: isWork ? 'script_failure' : 'runner_system_failure', stage: stage.name, exitCode: code }
}

function statusOf(result: JobResult): string {
  if (result.state === 'success') return 'success'
  if (result.reason === 'job_canceled') return 'canceled'
  return result.reason === 'job_execution_timeout' ? 'timedout' : 'failed'
}

interface Running extends SupervisorOptions {
  readonly output: Output
  readonly commands: Commands
}

interface StageRun {
  readonly stage: Stage
  readonly number: number
  readonly limitMs: number
}

/** Runs the tries of a stage. */
async function runStage(options: Running, run: StageRun): Promise<Ended> {
  const { log } = options
  const { stage } = run
  const until = options.clock.monotonic() + run.limitMs
  for (let n = 1; ; n += 1) {
    log.control({ type: 'stage-start', name: stage.name, title: stage.title })
    const limitMs = until - options.clock.monotonic()
    const ended = await (stage.container === 'build'
      ? inBuild(options, { ...run, limitMs })
      : inHelper(options, { ...run, limitMs }))
    log.control({ type: 'stage-end', name: stage.name, code: ended.code, ...(ended.why !== undefined && { why: ended.why }) })
    if (ended.code === 0 || ended.why !== undefined || n >= stage.attempts) return ended
    if (stage.clear !== undefined) {
      const { name, title, script } = stage.clear
      log.control({ type: 'stage-start', name, title })
      const cleared = await inHelper(options, { ...run, stage: { ...stage, script }, limitMs })
      log.control({ type: 'stage-end', name, code: cleared.code })
    }
  }
}

/** Calls `stop` when the stage has to end, and `kill` if it has not ended after the grace. Returns why; undefined if it ended by itself. */
function limit(
  { clock, canceled, graceMs = GRACE_MS }: Running,
  { stage, limitMs }: StageRun,
  { stop, kill, ended }: { readonly stop: () => void; readonly kill: () => void; readonly ended: AbortSignal },
): () => Ended['why'] {
  let why: Ended['why']
  const end = (reason: NonNullable<Ended['why']>): void => {
    if (ended.aborted || why !== undefined) return
    why = reason
    stop()
    void clock.sleep(graceMs, ended).then(kill, () => undefined)
  }
  void clock.sleep(Math.max(0, limitMs), ended).then(
    () => end('timeout'),
    () => undefined,
  )
  // What always runs also runs for a job that was canceled.
  if (stage.when === 'on_success') {
    const cancel = (): void => end('canceled')
    if (canceled.aborted) cancel()
    canceled.addEventListener('abort', cancel, { once: true, signal: ended })
  }
  return () => why
}

/** Runs a script in the helper. Its processes are a group of their own, so that all of them can be ended. */
async function inHelper(options: Running, run: StageRun): Promise<Ended> {
  const { log } = options
  // Not in the shared folder, where the job could replace it.
  const folder = mkdtempSync(join(tmpdir(), 'windlass-stage-'))
  const script = join(folder, 'script')
  writeFileSync(script, run.stage.script, { mode: 0o600 })
  const child = spawn('sh', [script], { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const ended = new AbortController()
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, name)
    } catch {
      // The group has ended.
    }
  }
  const why = limit(options, run, { stop: () => signal('SIGTERM'), kill: () => signal('SIGKILL'), ended: ended.signal })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => log.write('executor', bytes))
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    const reason = why()
    return { code: code ?? 1, ...(reason !== undefined && { why: reason }) }
  } finally {
    ended.abort()
    // Processes that the stage left would keep its output open.
    signal('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs a script in the build container. */
async function inBuild(options: Running, run: StageRun): Promise<Ended> {
  const { exchangeFolder, clock, output, commands } = options
  const { number, stage } = run
  writeFileSync(join(exchangeFolder, FILES.script(number)), stage.script, { mode: 0o644 })
  const ended = new AbortController()
  commands.send(`run ${number}`)
  const why = limit(options, run, {
    stop: () => commands.send('stop'),
    kill: () => commands.send('kill'),
    ended: ended.signal,
  })
  try {
    for (;;) {
      const code = readCode(join(exchangeFolder, FILES.code(number)))
      output.look()
      if (code !== undefined) {
        const reason = why()
        return { code, ...(reason !== undefined && { why: reason }) }
      }
      await clock.sleep(LOOK_MS)
    }
  } finally {
    ended.abort()
    // The next stage begins without processes of this one.
    commands.send('kill')
  }
}

function readCode(path: string): number | undefined {
  if (!existsSync(path)) return undefined
  const match = /^(\d{1,3})\n$/.exec(readFileSync(path, 'latin1'))
  return match === null ? undefined : Number(match[1])
}

interface Commands {
  send(command: string): void
  close(): void
}

/** Opens the pipe to the loop. It keeps what is written as long as it is open, and opened like this it does not wait for its reader. */
function openCommands(folder: string): Commands {
  const pipe = openSync(join(folder, FILES.commands), 'r+')
  return {
    send: (command) => void writeSync(pipe, `${command}\n`),
    close: () => closeSync(pipe),
  }
}

interface Output {
  /** Copies what the build container has written to the log. */
  look(): void
  /** The same for what is left, and closes the file. */
  rest(): void
}

function openOutput({ exchangeFolder, log }: SupervisorOptions): Output {
  const path = join(exchangeFolder, FILES.output)
  writeFileSync(path, '', { flag: 'a', mode: 0o666 })
  const file = openSync(path, 'r')
  const buffer = Buffer.alloc(256 * 1024)
  let offset = 0
  const look = (): void => {
    for (;;) {
      const length = readSync(file, buffer, 0, buffer.length, offset)
      if (length === 0) return
      offset += length
      log.write('work', Buffer.from(buffer.subarray(0, length)))
    }
  }
  return {
    look,
    rest() {
      look()
      closeSync(file)
    },
  }
}
