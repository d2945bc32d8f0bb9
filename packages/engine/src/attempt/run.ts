/**
 * One attempt: decide, carry out, fold what happened, decide again. What happens next is decided by pure functions of `plan`; this file only
 * starts steps, waits for them, and writes the facts down.
 */
import { isFault } from '@windlass/kit'
import {
  buildScope,
  decide,
  fold,
  isFinalStep,
  isGroup,
  isInfra,
  isInOnFinish,
  resolveStep,
  resume,
  stateOf,
  stepsInside,
  stoppedBy,
  VOLUME_PATH,
  workflowResultAt,
  type BuildContext,
  type BuildScope,
  type Decision,
  type PlanStep,
  type Reason,
  type Snapshot,
  type StepFact,
} from '@windlass/plan'
import {
  stepStream,
  SYSTEM_STREAM,
  terminalStream,
  type AttemptOutcome,
  type Command,
  type DebugPhase,
  type EngineEventBody,
} from '@windlass/protocol'
import { startCleaner, type DiskCleaner } from '../clean/cleaner.ts'
import { Debugger, isDebugCommand } from '../debug/debugger.ts'
import { refusalStatus } from '../docker/containers.ts'
import { openStepOutput, type Allowance, type StepOutput } from '../output/step-output.ts'
import { Services } from '../services/services.ts'
import { copyResources } from '../steps/git-file.ts'
import { runStep, type StepEnd } from '../steps/run-step.ts'
import { openMeter } from '../steps/usage.ts'
import { addChore, StepFailure, StepStop, type AttemptContext } from './context.ts'
import { GroupClock, type GroupRestart } from './group-clock.ts'
import type { AttemptOptions } from './input.ts'
import { openContext } from './open-context.ts'
import { prefetchImages } from './prefetch.ts'
import { hasKubeconfig, KUBECONFIG_PATH } from './private-files.ts'
import { secretsOf, type SecretSource } from './secrets.ts'
import { sweepEnvironments, sweepOld } from './sweep.ts'
import { watchDaemon } from './watch-daemon.ts'
import { removeLeftovers } from './workspace.ts'

export const ENGINE_VERSION = '0.1.0'

/**
 * Runs an attempt and writes its end to the journal. Resolves with the outcome; with undefined when `options.signal` stopped it: then nothing
 * final is written, and its containers are gone.
 */
export async function runAttempt(options: AttemptOptions): Promise<AttemptOutcome | undefined> {
  const end = new AbortController()
  try {
    return await new Attempt(options, end.signal).run()
  } finally {
    end.abort(new StepStop('terminated', 'cancelled', 'The attempt is over.'))
  }
}

class Attempt {
  readonly #options: AttemptOptions
  /** Aborted when the attempt is over. */
  readonly #end: AbortSignal
  readonly #running = new Map<string, AbortController>()
  readonly #secrets: SecretSource
  readonly #allowance: Allowance
  readonly #system: StepOutput
  readonly #debugger: Debugger
  readonly #groups: GroupClock
  #services: Services | undefined
  #snapshot: Snapshot
  #cancelled: Reason | undefined
  #forced = false
  /** The loop has ended: the steps of this attempt are as they are. */
  #isLeaving = false
  /** Why the attempt cannot go on, whatever its steps do. */
  #broken: AttemptOutcome | undefined
  #wake = Promise.withResolvers<void>()

  constructor(options: AttemptOptions, end: AbortSignal) {
    this.#options = options
    this.#end = end
    this.#snapshot = options.input.snapshot
    this.#secrets = secretsOf(options.input)
    this.#allowance = { left: options.input.limits.buildLogBytes }
    this.#system = this.#openOutput(SYSTEM_STREAM)
    this.#groups = new GroupClock({
      clock: options.clock,
      end,
      onExpired: (group, limitMs) => this.#expire(group, limitMs),
      onRestart: (restart) => this.#restart(restart),
    })
    this.#debugger = new Debugger({
      settings: options.input.debug,
      timeoutMs: options.debugTimeoutMs,
      clock: options.clock,
      link: options.debug ?? {},
      openRecord: (terminal) => ({
        output: this.#openOutput(terminalStream(terminal)),
        secrets: this.#secrets(this.#snapshot),
      }),
      onTimeout: (step) =>
        this.#cancel('debug-timeout', `Nobody attended to the debugger at step "${step}" for as long as it may wait.`),
    })
  }

  async run(): Promise<AttemptOutcome | undefined> {
    const { journal, input, docker, signal } = this.#options
    const onStop = (): void => this.#stopAll(new StepStop('terminated', 'cancelled', 'The engine was told to stop.'))
    signal.addEventListener('abort', onStop, { once: true })
    try {
      const context = await this.#open()
      const volumeKept = context?.workspace.kept ?? false
      journal.append({
        type: 'attempt.started',
        engineVersion: ENGINE_VERSION,
        docker: { version: docker.version, api: docker.api },
        volumeKept,
        ...(input.resume !== undefined && { resume: input.resume }),
      })
      if (context === undefined) return await this.#finish(this.#broken)
      if (input.attempt > 1 || input.resume !== undefined) this.#resume(volumeKept)
      await this.#system.say(
        `Docker ${docker.version} at ${docker.host}; the shared volume is ${volumeKept ? 'kept from the attempt before' : 'ready'}.`,
      )
      this.#services = this.#openServices(context)
      const cleaner = this.#startCleaner(context)
      prefetchImages(context, this.#buildContext(), this.#snapshot)
      addChore(context, 'sweep', sweepOld(docker, context.clock))
      addChore(context, 'sweep environments', sweepEnvironments(docker, context.clock))
      const outcome = (await this.#fetchResources(context)) ? await this.#loop(context) : this.#broken
      this.#isLeaving = true
      await Promise.all([this.#closeServices(), cleaner?.wrapUp()])
      const told = await this.#finish(outcome)
      await close(context, told)
      return told
    } finally {
      signal.removeEventListener('abort', onStop)
    }
  }

  /** Puts what the pipeline wants from other repositories on the volume; false when that failed, and `#broken` says why. */
  async #fetchResources(context: AttemptContext): Promise<boolean> {
    const { plan, secrets } = this.#options.input
    const scope = buildScope({ plan, snapshot: this.#snapshot, builtins: this.#builtins(), secrets })
    try {
      await copyResources({ context, output: this.#system, signal: this.#options.signal, step: { name: 'resources' } }, scope)
      return true
    } catch (error) {
      this.#break(error)
      return false
    }
  }

  /** Prepares the daemon; undefined when that is not possible, and `#broken` says why. */
  async #open(): Promise<AttemptContext | undefined> {
    void this.#obey(this.#options.commands)
    try {
      return await openContext(this.#options, this.#end)
    } catch (error) {
      this.#break(error)
      return undefined
    }
  }

  #startCleaner(context: AttemptContext): DiskCleaner | undefined {
    if (this.#options.clean !== true) return undefined
    return startCleaner(context, { claims: context.claims, signal: this.#end, say: (line) => this.#system.say(line) })
  }

  #openServices(context: AttemptContext): Services {
    return new Services({
      context,
      plan: this.#options.input.plan,
      scope: () => this.#scope(),
      openLog: (owner) => this.#openOutput(stepStream(`${owner}.services`)),
    })
  }

  async #loop(context: AttemptContext): Promise<AttemptOutcome | undefined> {
    watchDaemon(context, { signal: this.#end, onLost: (error) => this.#break(error) })
    for (;;) {
      this.#wake = Promise.withResolvers()
      if (this.#options.signal.aborted) return this.#settle()
      if (this.#broken !== undefined) return this.#broken
      const decisions = decide(this.#options.input.plan, this.#snapshot, this.#buildContext())
      for (const decision of decisions) {
        if (decision.type === 'end') return decision.outcome
        if (decision.type === 'pause') return { status: 'pending-approval', reason: 'approval', step: decision.steps[0] }
        if (decision.type !== 'restart') this.#carryOut(context, decision)
      }
      await this.#pauseGroups(decisions.filter((decision) => decision.type === 'restart'))
      await this.#wake.promise
    }
  }

  async #pauseGroups(restarts: readonly GroupRestart[]): Promise<void> {
    for (const { step, try: number, delayMs } of this.#groups.await(restarts))
      await this.#system.say(`"${step}" failed; its try ${number} begins in ${Math.round(delayMs / 100) / 10} s.`)
  }

  /** Waits for the steps that were told to stop; the attempt has no outcome then. */
  async #settle(): Promise<undefined> {
    while (this.#running.size > 0 && this.#broken === undefined) {
      await this.#wake.promise
      this.#wake = Promise.withResolvers()
    }
    return undefined
  }

  /** What services still say is written before the end is. A daemon that is lost may not answer for long. */
  async #closeServices(): Promise<void> {
    const closed = this.#services?.close()
    await (this.#broken === undefined ? closed : Promise.race([closed, this.#options.clock.sleep(LAST_WORDS_MS)]))
  }

  async #finish(outcome: AttemptOutcome | undefined): Promise<AttemptOutcome | undefined> {
    if (outcome === undefined || this.#options.signal.aborted) return undefined
    const streams: Record<string, { bytes: number; sha256: string }> = {}
    for (const [name, { bytes, sha256 }] of Object.entries(await this.#options.journal.totals()))
      streams[name] = { bytes, sha256: sha256 ?? '' }
    this.#options.journal.append({ type: 'attempt.finished', outcome: { ...outcome, message: clip(outcome.message) }, streams })
    return outcome
  }

  #carryOut(context: AttemptContext, decision: Extract<Decision, { type: 'start' | 'finish' }>): void {
    const { plan } = this.#options.input
    if (decision.type === 'finish') {
      const { step, status, reason, message, outputs } = decision
      const told = { try: 0, status, reason, message: clip(message), ...(outputs !== undefined && { outputs: { ...outputs } }) }
      this.#groups.end(step)
      void this.#services?.release(step)
      this.#tell({ type: 'step.finished', step, ...told, members: {}, exports: [] })
      return
    }
    const step = plan.steps.find(({ name }) => name === decision.step)
    this.#tell({ type: 'step.started', step: decision.step, try: decision.try })
    if (step === undefined) return
    if (isGroup(plan, step.name)) this.#beginGroup(step)
    else if (step.action.kind === 'pending-approval') {
      this.#tell({ type: 'step.waiting', step: step.name, reason: 'approval' })
      this.#wake.resolve()
    } else void this.#runStep(context, step)
  }

  /** Goes on where the attempt before has ended. The time of groups that it was in begins anew. */
  #resume(volumeKept: boolean): void {
    const { input } = this.#options
    this.#snapshot = resume(input.plan, input.snapshot, { ...(input.resume ?? { cause: 'infra' }), volumeKept })
    this.#cancelled ??= stoppedBy(input.plan, this.#snapshot)
    for (const step of input.plan.steps)
      if (isGroup(input.plan, step.name) && stateOf(this.#snapshot, step.name).status === 'running') this.#beginGroup(step)
  }

  #beginGroup(step: PlanStep): void {
    const { try: number } = stateOf(this.#snapshot, step.name)
    const limitMs = step.timeout === undefined ? undefined : resolveStep(step, this.#scope(step.name), number).step?.timeoutMs
    this.#groups.begin(step.name, limitMs)
  }

  #restart({ step: name, try: number, resets }: GroupRestart): void {
    void this.#services?.release(name)
    this.#tell({ type: 'step.started', step: name, try: number, resets: [...resets] })
    const step = this.#options.input.plan.steps.find((candidate) => candidate.name === name)
    if (step !== undefined) this.#beginGroup(step)
    this.#wake.resolve()
  }

  #expire(group: string, limitMs: number): void {
    const inside = stepsInside(this.#options.input.plan, group)
    const message = `The time limit of "${group}", ${limitMs / 1000} s, is over.`
    this.#stopAll(new StepStop('error', 'timeout', message), (step) => inside.has(step))
  }

  /** What names mean now: for a step, or for the whole build. */
  #scope(step?: string): BuildScope {
    const { plan, secrets } = this.#options.input
    const context = this.#buildContext()
    const workflowResult = step === undefined ? undefined : workflowResultAt(plan, this.#snapshot, { context, step })
    return buildScope({ plan, snapshot: this.#snapshot, builtins: context.builtins, secrets, workflowResult, step })
  }

  async #runStep(context: AttemptContext, step: PlanStep): Promise<void> {
    const controller = new AbortController()
    this.#running.set(step.name, controller)
    const output = this.#openOutput(stepStream(step.name))
    try {
      const scope = (): BuildScope => this.#scope(step.name)
      const membersOf = (name: string) => stateOf(this.#snapshot, name).members
      const onTry = (number: number): void => this.#tell({ type: 'step.started', step: step.name, try: number })
      const onHold = (phase: DebugPhase): void => this.#tell({ type: 'step.waiting', step: step.name, reason: 'debugger', phase })
      const { signal } = controller
      const meter = openMeter({
        docker: context.docker,
        clock: context.clock,
        onUsage: (usage) => void this.#options.journal.append({ type: 'step.usage', step: step.name, usage }),
      })
      const end = await runStep({
        context,
        services: this.#services,
        step,
        scope,
        output,
        membersOf,
        signal,
        onTry,
        onHold,
        meter,
        debugger: this.#debugger,
      })
      await output.end()
      this.#tellEnd(step.name, end)
    } catch (error) {
      this.#break(error, step.name)
    } finally {
      this.#running.delete(step.name)
      this.#wake.resolve()
    }
  }

  #tellEnd(
    step: string,
    { try: number, status, reason, message, hint, exitCode, members, exports, outputs, usage }: StepEnd,
  ): void {
    // An engine that is told to stop, or that has lost its daemon, judges nothing: the next attempt runs these steps again.
    if (this.#options.signal.aborted || this.#broken !== undefined) return
    const told = exports.map(({ name, value, secret }) => ({ name, value, secret }))
    this.#tell({
      type: 'step.finished',
      step,
      try: number,
      status,
      reason,
      message: clip(message),
      hint: clip(hint),
      exitCode,
      members: { ...members },
      exports: told,
      ...(outputs !== undefined && { outputs: { ...outputs } }),
      ...(usage !== undefined && { usage }),
    })
  }

  /** Writes a fact down, and takes it in. */
  #tell(fact: Told): void {
    const event = this.#options.journal.append(fact)
    this.#snapshot = fold(this.#snapshot, { ...fact, at: event.at })
  }

  /** The daemon is lost, or we have a bug: nothing that the steps do counts any more. A step that was running stays so, and is run again. */
  #break(error: unknown, step?: string): void {
    const { log } = this.#options
    const lost = isFault(error, 'docker-unreachable') || (refusalStatus(error) ?? 0) >= 500
    const reason: Reason = lost ? 'dind-lost' : error instanceof StepFailure ? error.reason : 'internal'
    const message = error instanceof Error ? error.message : String(error)
    if (reason === 'internal') log.error({ err: error, step }, 'attempt broke')
    else log.warn({ reason, message, step }, 'attempt broke')
    this.#broken ??= { status: 'error', reason, message: clip(message), ...(step !== undefined && { step }) }
    this.#stopAll(new StepStop('error', reason, message))
    this.#wake.resolve()
  }

  async #obey(commands: AsyncIterable<Command>): Promise<void> {
    for await (const command of commands) {
      if (isDebugCommand(command)) this.#debugger.obey(command)
      if (command.type === 'decide') this.#decided(command)
      if (command.type !== 'terminate') continue
      const { reason } = command
      this.#cancel(reason, reason === 'superseded' ? 'A newer build took its place.' : 'The build was terminated.')
    }
  }

  #cancel(reason: Reason, message: string): void {
    // The first wish to stop lets clean-up steps run; the second stops those too.
    this.#forced = this.#cancelled !== undefined
    this.#cancelled ??= reason
    const { plan } = this.#options.input
    this.#stopAll(new StepStop('terminated', reason, message), (step) => this.#forced || !isInOnFinish(plan, step))
    this.#wake.resolve()
  }

  /** Somebody decided about an approval. Nobody did in time, and that ends the build: everything is stopped. */
  #decided({ step, decision, by }: Extract<Command, { type: 'decide' }>): void {
    const { status } = stateOf(this.#snapshot, step)
    // What is decided while this engine leaves is for the next one: told here, nobody would act on it.
    if (this.#isLeaving || isFinalStep(status) || status === 'pending') return
    this.#tell({ type: 'step.decided', step, decision, by })
    if (decision === 'terminated') this.#cancel('approval-timeout', 'Nobody decided about the approval in time.')
    this.#wake.resolve()
  }

  #stopAll(stop: StepStop, isMeant: (step: string) => boolean = () => true): void {
    for (const [step, controller] of this.#running) if (isMeant(step)) controller.abort(stop)
    this.#wake.resolve()
  }

  #buildContext(): BuildContext {
    const { input, only = input.only, skip = input.skip } = this.#options
    const { secrets } = input
    const { expired } = this.#groups
    return { builtins: this.#builtins(), secrets, cancelled: this.#cancelled, forced: this.#forced, only, skip, expired }
  }

  #builtins(): Record<string, string> {
    const { input } = this.#options
    return {
      ...(input.buildToken !== undefined && { CF_API_KEY: input.buildToken }),
      CI: 'true',
      CF_BUILD_ID: input.buildId,
      CF_VOLUME_NAME: input.volumeName,
      CF_VOLUME_PATH: VOLUME_PATH,
      ...(hasKubeconfig(input) && { CF_KUBECONFIG_PATH: KUBECONFIG_PATH }),
    }
  }

  #openOutput(name: string): StepOutput {
    const { journal, input } = this.#options
    return openStepOutput({
      stream: journal.stream(name),
      secrets: this.#secrets(this.#snapshot),
      limitBytes: input.limits.stepLogBytes,
      allowance: this.#allowance,
    })
  }
}

const LAST_WORDS_MS = 2_000

/** Messages of daemons, registries and git may be of any length; those of events are not. */
const LONGEST_MESSAGE = 4_000

function clip(text: string): string
function clip(text: string | undefined): string | undefined
function clip(text: string | undefined): string | undefined {
  return text === undefined || text.length <= LONGEST_MESSAGE ? text : `${text.slice(0, LONGEST_MESSAGE)}…`
}

/** An event about a step, before the journal numbers it. */
type Told = Extract<EngineEventBody, { type: StepFact['type'] }>

/** Gives back what the attempt had on the daemon. After a loss of infrastructure, and after an approval, the next attempt wants to find the build's state. */
async function close(context: AttemptContext, outcome: AttemptOutcome | undefined): Promise<void> {
  const isOver = outcome !== undefined && outcome.status !== 'pending-approval'
  const forget = isOver && (outcome.reason === undefined || !isInfra(outcome.reason))
  await Promise.all([...context.chores, context.namespaces.settled()])
  await context.workspace.close({ forget }).catch((error: unknown) => context.log.warn({ err: error }, 'clean-up failed'))
  if (context.patientChores.size === 0) return
  await Promise.all(context.patientChores)
  // Two removals of one container at once: neither of them knew when its network was free.
  const { docker, input, log } = context
  await removeLeftovers(docker, input.buildId).catch((error: unknown) => log.warn({ err: error }, 'clean-up failed'))
}
