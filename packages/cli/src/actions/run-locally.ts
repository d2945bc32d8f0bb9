import { join, resolve } from 'node:path'
import { openLog, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { runLocalBuild, type LocalBuild, type LocalBuildOptions, type LocalWatcher } from '@windlass/local'
import { stateOf } from '@windlass/plan'
import { DebugInput } from '@windlass/protocol'
import type { Invocation, Values } from '../command.ts'
import type { runOptions } from '../commands/run.ts'
import { EXIT, exitCodeOfBuild } from '../exit-codes.ts'
import { LogView } from '../follow/log-view.ts'
import type { BuildRecord } from '../follow/record.ts'
import { reorder } from '../follow/reorder.ts'
import { summarize } from '../follow/summary.ts'
import { formatError, formatProblem } from '../format/problems.ts'
import { forgetInputs, readInput, sourcesRead } from '../input-files.ts'
import type { Settings } from '../config.ts'
import { attendLocally } from '../debug/attend-locally.ts'
import { toDebugInput } from '../debug/breaks.ts'
import { parseSecrets, parseVariables, readVariableFile } from '../variables.ts'
import { askApproval } from './ask-approval.ts'
import { catchInterrupts, type Interrupts } from './interrupt.ts'
import { watchFiles } from './watch-files.ts'

type RunOptions = Values<typeof runOptions>

/**
 * `run --local -f FILE`. Ctrl-C terminates the build; a second one does not wait for its steps. With `--watch` each change of the document or
 * of the work tree ends the build that runs and begins another, until Ctrl-C.
 */
export async function runOnThisMachine(invocation: Invocation<RunOptions>): Promise<number> {
  const { options } = invocation
  using interrupts = catchInterrupts(systemClock)
  // Awaited here, so that Ctrl-C is heard until the build has ended.
  if (!options.watch) return await runOnce(invocation, interrupts, interrupts.first)
  if (options.file === undefined || options.file === '-')
    throw fault('usage', { message: '--watch needs a file.', hint: 'Write windlass run --local --watch -f FILE.' })
  using files = watchFiles([options.file, ...options.varFile], options.source === undefined ? [] : [options.source], systemClock)
  const { stderr } = invocation.out
  for (;;) {
    const changed = files.next()
    const either = AbortSignal.any([interrupts.first, changed])
    const code = await runOnce(invocation, interrupts, either).catch((error: unknown) => {
      if (!isFault(error, 'pipeline-invalid', 'file-not-found')) throw error
      for (const line of formatError(error, { style: stderr.style, debug: false, sources: sourcesRead() }))
        stderr.write(`${line}\n`)
      return EXIT.failed
    })
    if (interrupts.first.aborted) return code
    if (!changed.aborted) stderr.write(`${stderr.style.dim('Waiting for a change; Ctrl-C ends.')}\n`)
    await new Promise((resolve) => {
      either.addEventListener('abort', resolve, { once: true })
      if (either.aborted) resolve(undefined)
    })
    if (interrupts.first.aborted) return code
    forgetInputs()
  }
}

async function runOnce(
  { args, options, out, settings }: Invocation<RunOptions>,
  interrupts: Interrupts,
  cancel: AbortSignal,
): Promise<number> {
  const terminal = options.output === 'json' ? out.stderr : out.stdout
  const build = await toLocalBuild(args[0], { options, settings, cancel })
  const titles = new Map<string, string>()
  const groups = new Set<string>()
  using view = new LogView({
    terminal,
    clock: systemClock,
    timestamps: options.timestamps,
    titleOf: (step) => titles.get(step) ?? step,
    isGroup: (step) => groups.has(step),
  })
  const order = reorder(systemClock, (item) => view.show(item))
  const onStop = (): void => {
    if (!interrupts.first.aborted) return view.note(terminal.style.yellow('A file has changed: stopping the build.'))
    view.note(terminal.style.yellow('Stopping the build; press Ctrl-C again to leave at once.'))
    void interrupts.second(600_000).then((again) => {
      if (again) process.exit(EXIT.interrupted)
    })
  }
  cancel.addEventListener('abort', onStop, { once: true })
  let attempt = 1
  const watcher: LocalWatcher = {
    begin({ plan, warnings, volumeName }) {
      for (const { name, title, action } of plan.steps) {
        titles.set(name, title)
        if (action.kind === 'group') groups.add(name)
      }
      for (const problem of warnings) for (const line of formatProblem(problem, sourcesRead(), terminal.style)) view.note(line)
      view.note(terminal.style.bold(`Local build of ${build.source.file}`) + terminal.style.dim(`  volume ${volumeName}`))
      view.wait('starting')
    },
    event(event) {
      if (event.type === 'attempt.finished' && event.outcome.status === 'pending-approval') attempt += 1
      order.push({ kind: 'event', attempt, at: event.at, type: event.type, data: { ...event } })
    },
    async output({ stream, at, bytes }) {
      // What other steps say meanwhile would stand between the lines of a shell.
      await attending
      order.push({ kind: 'log', attempt, at, stream, bytes })
      await terminal.drained()
    },
  }
  const ask: LocalBuildOptions['ask'] = async (step, signal) => {
    order.flush()
    return askApproval(step, { terminal, signal })
  }
  let attending: Promise<void> = Promise.resolve()
  const onHeld: NonNullable<LocalBuildOptions['debug']>['onHeld'] = (held) => {
    attending = attending.then(async () => {
      order.flush()
      await attendLocally(held, terminal).catch((error: unknown) => {
        view.note(
          terminal.style.red(
            `The debugger cannot look into ${held.step}: ${error instanceof Error ? error.message : String(error)}`,
          ),
        )
        held.resume('fail')
      })
    })
  }
  const debug = toDebug(options, onHeld)
  try {
    const result = await runLocalBuild({ ...build, ask, debug }, watcher)
    order.flush()
    view[Symbol.dispose]()
    const record = toRecord(result, build)
    const shown = { lastLines: (step: string) => view.lastLines(step), shownLast: view.openStep }
    terminal.write(`${summarize(record, { terminal, ...shown }).join('\n')}\n`)
    if (options.output === 'json') out.line(JSON.stringify(record, null, 2))
    return interrupts.first.aborted ? EXIT.interrupted : exitCodeOfBuild(record.status)
  } finally {
    cancel.removeEventListener('abort', onStop)
  }
}

/** Somebody has to sit at the terminal. Throws `usage`. */
function toDebug(options: RunOptions, onHeld: NonNullable<LocalBuildOptions['debug']>['onHeld']): LocalBuildOptions['debug'] {
  const { debug } = toDebugInput(options)
  if (debug === undefined) return undefined
  if (!process.stdin.isTTY)
    throw fault('usage', { message: 'A local debug run needs a terminal.', hint: 'Leave out --debug, --break and --on-failure.' })
  return { settings: DebugInput.parse({ timeoutMs: LOCAL_TIMEOUT_MS, ...debug }), onHeld }
}

/** Whoever sits at this terminal may go for lunch. */
const LOCAL_TIMEOUT_MS = 28_800_000

interface Context {
  readonly options: RunOptions
  readonly settings: Settings
  readonly cancel: AbortSignal
}

async function toLocalBuild(pipeline: string | undefined, { options, settings, cancel }: Context): Promise<LocalBuildOptions> {
  refuseServerOptions(pipeline, options)
  const source = readInput(options.file ?? '')
  const fromFiles = await Promise.all(options.varFile.map((path) => readVariableFile(path)))
  const secretFiles = await Promise.all(options.secretFile.map((path) => readVariableFile(path)))
  return {
    source: { text: source.text, file: source.name },
    documentPath: options.file === '-' ? undefined : resolve(options.file ?? ''),
    workTree: options.source,
    branch: options.branch,
    revision: options.sha,
    variables: Object.assign({}, ...fromFiles, parseVariables(options.variable, '-v')),
    secrets: Object.assign({}, ...secretFiles, parseSecrets(options.secret, settings.environment)),
    only: options.only,
    skip: options.skip,
    approve: options.approve,
    deny: options.deny,
    noCache: options.noCache,
    resetVolume: options.resetVolume,
    stepLogBytes: options.logLimit,
    stepTypes: options.stepTypes,
    environment: settings.environment,
    stateDir: join(settings.dataFolder, 'local-runs'),
    clock: systemClock,
    log: openLog({ level: settings.debug ? 'debug' : 'silent', name: 'engine' }),
    cancel,
  }
}

function refuseServerOptions(pipeline: string | undefined, options: RunOptions): void {
  if (options.file === undefined || pipeline !== undefined)
    throw fault('usage', { message: 'A local run needs a document.', hint: 'Write windlass run --local -f FILE.' })
  const given = [
    options.detach ? '--detach' : undefined,
    options.context.length > 0 ? '--context' : undefined,
    options.runtime === undefined ? undefined : '--runtime',
    options.yaml === undefined ? undefined : '--yaml',
    options.trigger === undefined ? undefined : '--trigger',
    options.annotation.length > 0 ? '--annotation' : undefined,
    options.enableNotifications ? '--enable-notifications' : undefined,
    [options.cpu, options.memory, options.disk].some((size) => size !== undefined) ? '--cpu, --memory or --disk' : undefined,
  ].find((name) => name !== undefined)
  if (given !== undefined)
    throw fault('usage', { message: `${given} needs a server.`, hint: 'Leave it out, or leave out --local.' })
}

function toRecord(build: LocalBuild, { source }: LocalBuildOptions): BuildRecord {
  const { plan, snapshot, outcome, hints } = build
  return {
    id: null,
    number: null,
    pipeline: source.file,
    status: outcome.status,
    reason: outcome.reason ?? null,
    message: outcome.message ?? null,
    hint: outcome.step === undefined ? null : (hints[outcome.step] ?? null),
    branch: build.branch ?? null,
    revision: build.revision ?? null,
    runtime: null,
    attempt: 1,
    createdAt: build.createdAt,
    startedAt: build.startedAt,
    finishedAt: build.finishedAt,
    steps: plan.steps.map(({ name, title, action, parent, hook }) => {
      const state = stateOf(snapshot, name)
      return {
        name,
        title,
        parent: parent ?? hook?.of ?? null,
        type: action.kind,
        status: state.status,
        reason: state.reason ?? null,
        message: state.message ?? null,
        hint: hints[name] ?? null,
        exitCode: state.exitCode ?? null,
        usage: state.usage ?? null,
        startedAt: state.startedAt ?? null,
        finishedAt: state.finishedAt ?? null,
      }
    }),
  }
}
