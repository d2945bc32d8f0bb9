/** Runs one step from its plan to its outcome: substitutes variables, applies timeout and retries, and converts failures to an outcome. */
import { isFault, sentences } from '@windlass/kit'
import {
  isInfra,
  isRunnable,
  nextTry,
  resolveStep,
  type BuildScope,
  type PlanStep,
  type ResolvedAction,
  type ResolvedStep,
  type RunnableKind,
  type SealedNames,
} from '@windlass/plan'
import type { DebugPhase } from '@windlass/protocol'
import { clip } from '../attempt/clip.ts'
import type { AttemptContext, StepRun } from '../attempt/context.ts'
import type { Debugger } from '../debug/debugger.ts'
import { runDebugged, type DebuggedTry, type TryEnd } from '../debug/hold-step.ts'
import type { StepOutput } from '../output/step-output.ts'
import type { Services } from '../services/services.ts'
import { runnerOf } from './index.ts'
import { toUnknownFailure } from '../containers/failures.ts'
import type { StepPhases } from '../run/step-phases.ts'
import type { StepUsage, UsageMeter } from '../containers/usage.ts'
import { StepFailure, StepStop, type StepOutcome } from '../attempt/step-outcome.ts'

export interface StepTask {
  readonly context: AttemptContext
  readonly step: PlanStep
  /** Returns the current values of names. Called for every try. */
  readonly scope: () => BuildScope
  readonly output: StepOutput
  readonly membersOf: StepRun['membersOf']
  /** Aborted with a `StepStop`. */
  readonly signal: AbortSignal
  /** Called when another try starts, and when the debugger continues a try. */
  readonly onTry: (number: number) => void
  readonly services: Services | undefined
  readonly meter: UsageMeter
  readonly phases: StepPhases
  readonly debugger: Debugger
  /** Called when the debugger holds the step. */
  readonly onHold: (phase: DebugPhase) => void
}

export interface StepEnd extends StepOutcome {
  /** The number of the last try. */
  readonly try: number
  /** Peak usage of its containers. Undefined if none ran for a second. */
  readonly usage?: StepUsage | undefined
}

/** Runs a step with all its tries. Rejects only if the daemon is lost, or with a bug. */
export async function runStep(task: StepTask): Promise<StepEnd> {
  const { step, output, context } = task
  for (let number = 1; ;) {
    const { isAgain, ...tried } = await runTry(task, number)
    const outcome = redact(tried, output)
    await output.end()
    if (outcome.exports.length > 0) await output.say(`Exported variables: ${outcome.exports.map(({ name }) => name).join(', ')}.`)
    if (outcome.message !== undefined) await output.say(sentences(outcome.message, outcome.hint))
    if (isAgain === true) {
      number += 1
      task.onTry(number)
      continue
    }
    const next = nextTry(step, { ...outcome, try: number } as { status: 'error'; try: number })
    if (next === undefined || task.signal.aborted) return { ...outcome, try: number, usage: task.meter.peaks() }
    await output.say(
      `Try ${number} of ${step.retry.maxAttempts} failed; the next one starts in ${Math.round(next.delayMs / 100) / 10} s.`,
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
  const { action } = step
  if (!isRunnable(action)) throw new Error(`a step of kind ${action.kind} does not run by itself`)
  const run = { context, step, output, membersOf, signal, action }
  const onHold: DebuggedTry['onHold'] = (phase) => (phase === undefined ? task.onTry(number) : task.onHold(phase))
  const startServices: DebuggedTry['startServices'] = (ready) =>
    services?.start(task.step, ready, run) ?? Promise.resolve(undefined)
  try {
    return await guard(signal, () =>
      runDebugged({
        debugger: task.debugger,
        plan: task.step,
        run,
        onHold,
        startServices,
        act: (ready) => runLimited(task, ready, action),
      }),
    )
  } finally {
    await services?.release(step.name)
  }
}

/** Runs the step with its services and timeout. */
async function runLimited(task: StepTask, step: ResolvedStep, action: ResolvedAction<RunnableKind>): Promise<StepOutcome> {
  using limit = startLimit(task, step)
  const { context, output, membersOf, services, meter, phases } = task
  const part = { context, step, output, signal: limit.signal, meter, phases }
  return await guard(limit.signal, async () => {
    if (task.step.services !== undefined) phases.begin('services')
    const serviceNetwork = await services?.start(task.step, step, part)
    if (action.kind !== 'freestyle') phases.begin('run')
    const outcome = await runnerOf(action).run({ ...part, action, membersOf, serviceNetwork, scope: task.scope() })
    if (outcome.status !== 'error' || serviceNetwork === undefined) return outcome
    const details = (await services?.explain(task.step)) ?? ''
    return details === '' ? outcome : { ...outcome, message: sentences(outcome.message, details) }
  })
}

/** Converts failures to an outcome. Rejects only if the daemon is lost, or with a bug. */
async function guard(signal: AbortSignal, work: () => Promise<TryEnd>): Promise<TryEnd> {
  try {
    return await work()
  } catch (error) {
    if (signal.aborted) return stopOutcome(signal.reason)
    const failure = isFault(error, 'docker-refused') ? toUnknownFailure('The Docker daemon refused', error) : error
    // An infrastructure failure is not an outcome: the step stays `running`, so that the next attempt runs it again.
    if (failure instanceof StepFailure && !isInfra(failure.reason)) return failed(failure)
    throw failure
  }
}

/** Returns a signal that is aborted when the step is stopped or times out. Uses the monotonic clock. */
function startLimit({ context, signal }: StepTask, { timeoutMs }: ResolvedStep): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController()
  const done = new AbortController()
  const stop = (): void => controller.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  if (timeoutMs !== undefined) {
    context.clock.sleep(timeoutMs, done.signal).then(
      () => controller.abort(new StepStop('error', 'timeout', `The step exceeded its time limit of ${timeoutMs / 1000} s.`)),
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

/**
 * Masks message and hint, and shortens them afterwards, because half a secret is not recognized. Values for later steps are not changed; those with a
 * secret are listed in `sealed`.
 */
export function redact<T extends StepOutcome>(outcome: T, output: Pick<StepOutput, 'redact'>): T {
  const mask = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : sentences(clip(output.redact(text)))
  const isSecret = (value: string): boolean => output.redact(value) !== value
  const exports = outcome.exports.map((entry) => ({ ...entry, secret: entry.secret || isSecret(entry.value) }))
  return { ...outcome, message: mask(outcome.message), hint: mask(outcome.hint), exports, sealed: sealedNames(outcome, isSecret) }
}

/** Returns the names in members and outputs whose values contain a secret, or undefined if there are none. */
export function sealedNames(
  { members, outputs = {}, sealed }: Pick<StepOutcome, 'members' | 'outputs' | 'sealed'>,
  isSecret: (value: string) => boolean,
): SealedNames | undefined {
  const namesIn = (values: Readonly<Record<string, string>>, known: readonly string[] = []): string[] =>
    Object.keys(values).filter((name) => known.includes(name) || isSecret(values[name] ?? ''))
  const found = { members: namesIn(members, sealed?.members), outputs: namesIn(outputs, sealed?.outputs) }
  return found.members.length + found.outputs.length === 0 ? undefined : found
}

function stopOutcome(reason: unknown): StepOutcome {
  const stop = reason instanceof StepStop ? reason : new StepStop('terminated', 'cancelled', 'The step was stopped.')
  return { status: stop.status, reason: stop.reason, message: stop.message, members: {}, exports: [] }
}

function failed(failure: StepFailure): StepOutcome {
  return { status: 'error', reason: failure.reason, message: failure.message, hint: failure.hint, members: {}, exports: [] }
}
