import { join, resolve } from 'node:path'
import { aborted, openLog, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { runLocalBuild, type LocalBuild, type LocalBuildOptions, type LocalWatcher } from '@windlass/local'
import { blamedStep, stateOf } from '@windlass/plan'
import { DebugInput } from '@windlass/protocol'
import type { Invocation, Values } from '../../command.ts'
import { EXIT, exitCodeOfBuild } from '../../exit-codes.ts'
import { textFor } from '../../follow/line-splitter.ts'
import { LogView } from '../../follow/log-view.ts'
import type { BuildRecord } from '../../follow/record.ts'
import { summarize } from '../../follow/summary.ts'
import { formatError, formatProblem } from '../../format/problems.ts'
import { formatAge } from '../../format/time.ts'
import { forgetInputs, readInput, sourcesRead } from '../../input/input-files.ts'
import type { Settings } from '../../config.ts'
import { debugHeldStep } from '../../debug/debug-held-step.ts'
import { toDebugInput } from '../../debug/breakpoints.ts'
import { parseSecrets, parseVariables, readVariableFile } from '../../input/variables.ts'
import { askApproval } from './ask-approval.ts'
import { catchInterrupts, type Interrupts } from './interrupt.ts'
import { watchFiles } from './watch-files.ts'
import type { ClosedPipe } from '../../printer.ts'
import type { runOptions } from './options.ts'

type RunOptions = Values<typeof runOptions>

/**
 * Runs `run --local -f FILE`. Ctrl-C terminates the build; a second one does not wait for its steps. With `--watch` each change of the
 * document or the work tree terminates the current build and starts another, until Ctrl-C. A closed pipe (`| head`) also terminates the build, so that nothing of it
 * stays, and ends with 0.
 */
export async function runLocally(invocation: Invocation<RunOptions>): Promise<number> {
  const { options } = invocation
  using interrupts = catchInterrupts(systemClock)
  using pipe = invocation.out.catchClosedPipe()
  const stop = AbortSignal.any([interrupts.first, pipe.signal])
  const codeOf = (code: number): number => (pipe.signal.aborted ? EXIT.success : code)
  // Awaited here, so that Ctrl-C is handled until the build has ended.
  if (!options.watch) return codeOf(await runOnce(invocation, { interrupts, pipe }, stop))
  if (options.file === undefined || options.file === '-')
    throw fault('usage', { message: '--watch needs a file.', hint: 'Run `windlass run --local --watch -f FILE`.' })
  // Throws for a file that cannot be read, before its folder is watched.
  readInput(options.file)
  using files = watchFiles([options.file, ...options.varFile], options.source === undefined ? [] : [options.source], systemClock)
  const { stderr } = invocation.out
  for (;;) {
    const changed = files.next()
    const either = AbortSignal.any([stop, changed])
    const code = await runOnce(invocation, { interrupts, pipe }, either).catch((error: unknown) => {
      if (!isFault(error, 'pipeline-invalid', 'file-not-found')) throw error
      for (const line of formatError(error, { style: stderr.style, debug: false, sources: sourcesRead() }))
        stderr.write(textFor(stderr, `${line}\n`))
      return EXIT.failed
    })
    if (stop.aborted) return codeOf(code)
    if (!changed.aborted) stderr.write(`${stderr.style.dim('Waiting for changes. Press Ctrl-C to stop.')}\n`)
    await aborted(either)
    if (stop.aborted) return codeOf(code)
    forgetInputs()
  }
}

async function runOnce(
  { args, options, out, settings }: Invocation<RunOptions>,
  { interrupts, pipe }: { readonly interrupts: Interrupts; readonly pipe: ClosedPipe },
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
  const onStop = (): void => {
    if (pipe.signal.aborted) return interrupts.first.addEventListener('abort', () => process.exit(EXIT.interrupted))
    if (!interrupts.first.aborted) return view.note(terminal.style.yellow('A file changed: stopping the build.'))
    view.note(terminal.style.yellow('Stopping the build. Press Ctrl-C again to exit immediately.'))
    void interrupts.second(600_000).then((again) => {
      if (again) process.exit(EXIT.interrupted)
    })
  }
  cancel.addEventListener('abort', onStop, { once: true })
  let attempt = 1
  const watcher: LocalWatcher = {
    begin({ plan, warnings, volume }) {
      for (const { name, title, action } of plan.steps) {
        titles.set(name, title)
        if (action.kind === 'group') groups.add(name)
      }
      for (const problem of warnings) for (const line of formatProblem(problem, sourcesRead(), terminal.style)) view.note(line)
      view.note(terminal.style.bold(`Local build of ${build.source.file}`) + terminal.style.dim(`  volume ${volume.name}`))
      for (const line of describeHolder(volume)) view.note(terminal.style.yellow(line))
      view.wait('starting')
    },
    event(event) {
      if (event.type === 'attempt.finished' && event.outcome.status === 'pending-approval') attempt += 1
      view.show({ kind: 'event', attempt, at: event.at, type: event.type, data: { ...event } })
    },
    async output({ stream, at, bytes }) {
      // The output of other steps would mix with that of the shell.
      await session
      view.show({ kind: 'log', attempt, at, stream, bytes })
      await terminal.drained()
    },
  }
  const ask: LocalBuildOptions['ask'] = async (step, signal) => askApproval(step, { terminal, signal })
  let session: Promise<void> = Promise.resolve()
  const onHeld: NonNullable<LocalBuildOptions['debug']>['onHeld'] = (held) => {
    session = session.then(async () => {
      await debugHeldStep(held, terminal).catch((error: unknown) => {
        view.note(
          terminal.style.red(
            `The debugger cannot open step ${held.step}: ${error instanceof Error ? error.message : String(error)}`,
          ),
        )
        held.resume('fail')
      })
    })
  }
  const debug = toDebug(options, onHeld)
  try {
    const result = await runLocalBuild({ ...build, ask, debug }, watcher)
    view[Symbol.dispose]()
    const record = toRecord(result, build)
    const shown = { lastLines: (step: string) => view.lastLines(step), shownLast: view.openStep }
    terminal.write(textFor(terminal, `${summarize(record, { terminal, ...shown }).join('\n')}\n`))
    if (options.output === 'json') out.line(JSON.stringify(record, null, 2))
    return interrupts.first.aborted ? EXIT.interrupted : exitCodeOfBuild(record.status)
  } finally {
    cancel.removeEventListener('abort', onStop)
  }
}

/** Returns the debug settings. Throws `usage` without a terminal. */
function toDebug(options: RunOptions, onHeld: NonNullable<LocalBuildOptions['debug']>['onHeld']): LocalBuildOptions['debug'] {
  const { debug } = toDebugInput(options)
  if (debug === undefined) return undefined
  if (!process.stdin.isTTY)
    throw fault('usage', {
      message: 'Debugging a local build needs a terminal.',
      hint: 'Remove --debug, --break and --on-failure.',
    })
  return { settings: DebugInput.parse({ timeoutMs: LOCAL_TIMEOUT_MS, ...debug }), onHeld }
}

/** Long by default (8 hours), because the user is at the terminal and may take a break. */
const LOCAL_TIMEOUT_MS = 28_800_000

/** Explains why a run does not use the persistent volume of its file. */
function describeHolder({ heldBy }: Parameters<LocalWatcher['begin']>[0]['volume']): string[] {
  if (heldBy === undefined) return []
  const { owner, since, hold, isCertain } = heldBy
  const who = `process ${owner.pid}${isCertain ? '' : ` on ${owner.host}`}, started ${formatAge(since, systemClock.now())} ago`
  const lines = [`Another run of this file (${who}) uses its persistent volume. This run uses a temporary empty one.`]
  if (!isCertain) lines.push(`If that run no longer exists, release the volume with \`docker volume rm ${hold}\`.`)
  return lines
}

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
    throw fault('usage', { message: 'A local run needs a document.', hint: 'Run `windlass run --local -f FILE`.' })
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
  if (given !== undefined) throw fault('usage', { message: `${given} needs a server.`, hint: 'Remove it, or remove --local.' })
}

function toRecord(build: LocalBuild, { source, only, skip }: LocalBuildOptions): BuildRecord {
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
    blame: (outcome.status === 'error' ? blamedStep(plan, snapshot, { only, skip }) : undefined) ?? null,
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
