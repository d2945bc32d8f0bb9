/** One step from its plan to its outcome: variables filled in, time limit, tries, and what went wrong as a value. */
import { isFault } from '@windlass/kit'
import { isInfra, nextTry, resolveStep, type BuildScope, type PlanStep, type ResolvedStep } from '@windlass/plan'
import type { DebugPhase } from '@windlass/protocol'
import { StepFailure, StepStop, type AttemptContext, type StepOutcome, type StepRun } from '../attempt/context.ts'
import type { Debugger } from '../debug/debugger.ts'
import { runDebugged, type DebuggedTry, type TryEnd } from '../debug/hold-step.ts'
import type { StepOutput } from '../output/step-output.ts'
import type { Services } from '../services/services.ts'
import { runAnnotate, type AnnotateRun } from './annotate.ts'
import { runBuild } from './build.ts'
import { runComposition } from './composition.ts'
import { runDeploy } from './deploy.ts'
import { toUnknownFailure } from './failures.ts'
import { runFreestyle } from './freestyle.ts'
import { runGitClone } from './git-clone.ts'
import { runLaunch } from './launch-composition.ts'
import { runPushTag } from './push-tag.ts'
import { runPush } from './push.ts'
import type { StepUsage, UsageMeter } from './usage.ts'

export interface StepTask {
  readonly context: AttemptContext
  readonly step: PlanStep
  /** What names mean now; asked anew for every try. */
  readonly scope: () => BuildScope
  readonly output: StepOutput
  readonly membersOf: StepRun['membersOf']
  /** Aborted with a `StepStop`. */
  readonly signal: AbortSignal
  /** Called when a further try begins, and when the debugger lets a try go on. */
  readonly onTry: (number: number) => void
  readonly services: Services | undefined
  readonly meter: UsageMeter
  readonly debugger: Debugger
  /** Called when the debugger holds the step. */
  readonly onHold: (phase: DebugPhase) => void
}

export interface StepEnd extends StepOutcome {
  /** The number of the last try. */
  readonly try: number
  /** Peaks over its containers; undefined when none ran for a second. */
  readonly usage?: StepUsage | undefined
}

/** Runs a step with all its tries. Rejects only when the daemon is lost or with a bug. */
export async function runStep(task: StepTask): Promise<StepEnd> {
  const { step, output, context } = task
  for (let number = 1; ;) {
    const { isAgain, ...tried } = await runTry(task, number)
    const outcome = redact(tried, output)
    await output.end()
    if (outcome.exports.length > 0) await output.say(`Exported variables: ${outcome.exports.map(({ name }) => name).join(', ')}.`)
    if (outcome.message !== undefined)
      await output.say(outcome.hint === undefined ? outcome.message : `${outcome.message} ${outcome.hint}`)
    if (isAgain === true) {
      number += 1
      task.onTry(number)
      continue
    }
    const next = nextTry(step, { ...outcome, try: number } as { status: 'error'; try: number })
    if (next === undefined || task.signal.aborted) return { ...outcome, try: number, usage: task.meter.peaks() }
    await output.say(
      `Try ${number} of ${step.retry.maxAttempts} failed; the next one begins in ${Math.round(next.delayMs / 100) / 10} s.`,
    )
    const stopped = await context.clock.sleep(next.delayMs, task.signal).then(
      () => false,
      () => true,
    )
    if (stopped) return { ...stopOutcome(task.signal.reason), try: number }
    number = next.try
    task.onTry(number)
  }
}

async function runTry(task: StepTask, number: number): Promise<TryEnd> {
  const { problems, step, unresolved } = resolveStep(task.step, task.scope(), number)
  if (step === undefined) {
    const [first] = problems
    return failed(new StepFailure(first?.reason ?? 'invalid-step', problems.map(({ message }) => message).join('; ')))
  }
  if (unresolved.length > 0)
    await task.output.say(`No value for ${unresolved.map((name) => `\${{${name}}}`).join(', ')}: left as written.`)
  const { context, output, membersOf, signal, services } = task
  const run: StepRun = { context, step, output, membersOf, signal, action: step.action }
  const onHold: DebuggedTry['onHold'] = (phase) => (phase === undefined ? task.onTry(number) : task.onHold(phase))
  const reach: DebuggedTry['reach'] = (ready) => services?.reach(task.step, ready, run) ?? Promise.resolve(undefined)
  try {
    return await guard(signal, () =>
      runDebugged({ debugger: task.debugger, plan: task.step, run, onHold, reach, act: (ready) => runLimited(task, ready) }),
    )
  } finally {
    await services?.release(step.name)
  }
}

/** The step itself with its services, within its time. */
async function runLimited(task: StepTask, step: ResolvedStep): Promise<StepOutcome> {
  using limit = startLimit(task, step)
  const { context, output, membersOf, services } = task
  const part = { context, step, output, signal: limit.signal, meter: task.meter }
  return await guard(limit.signal, async () => {
    const reach = await services?.reach(task.step, step, part)
    const outcome = await runAction({ ...part, membersOf, reach, scope: task.scope() })
    if (outcome.status !== 'error' || reach === undefined) return outcome
    const words = (await services?.explain(task.step)) ?? ''
    return words === '' ? outcome : { ...outcome, message: `${outcome.message ?? ''} ${words}`.trim() }
  })
}

/** What went wrong as an outcome. Rejects only when the daemon is lost or with a bug. */
async function guard(signal: AbortSignal, work: () => Promise<TryEnd>): Promise<TryEnd> {
  try {
    return await work()
  } catch (error) {
    if (signal.aborted) return stopOutcome(signal.reason)
    const failure = isFault(error, 'docker-refused') ? toUnknownFailure('The Docker daemon refused', error) : error
    // A loss of infrastructure is not what the step ended as: it stays running, so that the next attempt runs it again.
    if (failure instanceof StepFailure && !isInfra(failure.reason)) return failed(failure)
    throw failure
  }
}

function runAction(run: Omit<StepRun, 'action'> & Pick<AnnotateRun, 'scope'>): Promise<StepOutcome> {
  const { action } = run.step
  switch (action.kind) {
    case 'freestyle':
      return runFreestyle({ ...run, action })
    case 'git-clone':
      return runGitClone({ ...run, action })
    case 'build':
      return runBuild({ ...run, action })
    case 'push':
      return runPush({ ...run, action })
    case 'composition':
      return runComposition({ ...run, action })
    case 'launch-composition':
      return runLaunch({ ...run, action })
    case 'deploy':
      return runDeploy({ ...run, action })
    case 'push-tag':
      return runPushTag({ ...run, action })
    case 'annotate':
      return runAnnotate({ ...run, action })
    case 'pending-approval':
    case 'group':
      throw new Error(`a step of kind ${action.kind} has nothing to run by itself`)
  }
}

/** A signal that is aborted when the step is stopped or its time is over, by a clock that never jumps. */
function startLimit(
  { context, signal }: StepTask,
  { timeoutMs, name }: ResolvedStep,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  const done = new AbortController()
  const stop = (): void => controller.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  if (timeoutMs !== undefined) {
    context.clock.sleep(timeoutMs, done.signal).then(
      () =>
        controller.abort(
          new StepStop('error', 'timeout', `Step "${name}" was stopped: its time limit of ${timeoutMs / 1000} s is over.`),
        ),
      () => undefined,
    )
  }
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      signal.removeEventListener('abort', stop)
      done.abort()
    },
  }
}

/** What a person reads beside the log holds no secrets either. */
function redact(outcome: StepOutcome, output: StepOutput): StepOutcome {
  const { message, hint } = outcome
  return {
    ...outcome,
    message: message === undefined ? undefined : output.redact(message),
    hint: hint === undefined ? undefined : output.redact(hint),
  }
}

function stopOutcome(reason: unknown): StepOutcome {
  const stop = reason instanceof StepStop ? reason : new StepStop('terminated', 'cancelled', 'The step was stopped.')
  return { status: stop.status, reason: stop.reason, message: stop.message, members: {}, exports: [] }
}

function failed(failure: StepFailure): StepOutcome {
  return { status: 'error', reason: failure.reason, message: failure.message, hint: failure.hint, members: {}, exports: [] }
}
