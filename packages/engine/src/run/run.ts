/**
 * Runs one attempt in a loop: decide, act on the decisions, fold the resulting events into the snapshot. The pure functions of `plan` decide; this
 * file starts steps, waits for them and records the events.
 */
import { defined, isFault } from '@windlass/kit'
import {
  buildScope,
  decide,
  fold,
  isFinalStep,
  isGroup,
  isInOnFinish,
  kindOf,
  resolveStep,
  resume,
  stateOf,
  stepsInside,
  stoppedBy,
  VERSION,
  workflowResultAt,
  type BuildContext,
  type BuildScope,
  type Decision,
  type PlanStep,
  type Reason,
  type Snapshot,
} from '@windlass/plan'
import {
  serviceStream,
  stepStream,
  SYSTEM_STREAM,
  terminalStream,
  type AttemptOutcome,
  type Command,
  type DebugPhase,
} from '@windlass/protocol'
import { startCleaner, type DiskCleaner } from '../clean/cleaner.ts'
import { Debugger, isDebugCommand } from '../debug/debugger.ts'
import { maskText } from '../output/mask.ts'
import { openStepOutput, type Allowance, type StepOutput } from '../output/step-output.ts'
import { lengthsOf } from '../report/announce.ts'
import { Services } from '../services/services.ts'
import { copyResources } from '../git/git-file.ts'
import { runStep, type StepEnd } from '../steps/run-step.ts'
import { openMeter } from '../containers/usage.ts'
import { clip } from '../attempt/clip.ts'
import { addCleanup, type AttemptContext } from '../attempt/context.ts'
import { GroupClock, type GroupRestart } from './group-clock.ts'
import type { AttemptOptions } from '../attempt/input.ts'
import { builtinsOf } from './builtins.ts'
import { stopFor } from './commands.ts'
import { closeContext, recordOutcome } from './end-attempt.ts'
import { openContext } from './open-context.ts'
import { prefetchImages } from './prefetch.ts'
import { messageOf, reasonOf } from './reason-of.ts'
import { decidedEnd, performedEnd, type StepEvent } from './step-events.ts'
import { openPhases } from './step-phases.ts'
import { redactEvent } from '../secrets/redact-event.ts'
import { secretsOf, type SecretSource } from '../secrets/secrets.ts'
import { sweepEnvironments, sweepOld } from './sweep.ts'
import { watchDaemon } from './watch-daemon.ts'
import { StepStop } from '../attempt/step-outcome.ts'

/**
 * Runs an attempt and writes its end to the journal. Resolves with the outcome, or with undefined if `options.signal` stopped it: then nothing final
 * is written, and the containers are removed.
 */
export async function runAttempt(options: AttemptOptions): Promise<AttemptOutcome | undefined> {
  const end = new AbortController()
  try {
    return await new Attempt(options, end.signal).run()
  } finally {
    end.abort(new StepStop('terminated', 'cancelled', 'The attempt has ended.'))
  }
}

class Attempt {
  readonly #options: AttemptOptions
  /** Aborted when the attempt has ended. */
  readonly #end: AbortSignal
  readonly #running = new Map<string, AbortController>()
  readonly #secrets: SecretSource
  readonly #allowance: Allowance
  readonly #debugger: Debugger
  readonly #groups: GroupClock
  #systemOutput: StepOutput | undefined
  #services: Services | undefined
  #cleaner: DiskCleaner | undefined
  #snapshot: Snapshot
  #cancelled: Reason | undefined
  /** Aborted by the first request to stop. Ends the waits before the first step. */
  readonly #opening = new AbortController()
  #forced = false
  /** The loop has ended, so the states of the steps are final for this attempt. */
  #isEnding = false
  /** The outcome if the attempt cannot continue, whatever its steps do. */
  #broken: AttemptOutcome | undefined
  #wake = Promise.withResolvers<void>()

  constructor(options: AttemptOptions, end: AbortSignal) {
    this.#options = options
    this.#end = end
    this.#snapshot = options.input.snapshot
    this.#secrets = secretsOf(options.input)
    this.#allowance = { left: options.input.limits.buildLogBytes }
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
        this.#cancel(
          new StepStop(
            'terminated',
            'debug-timeout',
            `The debugger at step "${step}" timed out: no terminal or command was used in time.`,
          ),
        ),
    })
  }

  async run(): Promise<AttemptOutcome | undefined> {
    const { signal } = this.#options
    const onStop = (): void => this.#stopAll(new StepStop('terminated', 'cancelled', 'The engine was asked to stop.'))
    signal.addEventListener('abort', onStop, { once: true })
    try {
      const context = await this.#open()
      const outcome = await this.#orBroken(() => this.#begin(context))
      this.#isEnding = true
      const closed = await this.#orBroken(async () => {
        await Promise.all([this.#closeServices(), this.#cleaner?.wrapUp()])
        return outcome
      })
      const final = await this.#finish(closed)
      if (context !== undefined) await closeContext(context, final)
      return final
    } finally {
      signal.removeEventListener('abort', onStop)
    }
  }

  /** Returns the outcome of `work`, or that of the attempt if `work` fails for a reason outside of the engine. Rejects with a bug. */
  async #orBroken(work: () => Promise<AttemptOutcome | undefined>): Promise<AttemptOutcome | undefined> {
    try {
      return await work()
    } catch (error) {
      if (reasonOf(error) === 'internal') throw error
      this.#break(error)
      return this.#broken
    }
  }

  /** Starts the attempt and runs its steps. Without a context, only records the start. */
  async #begin(context: AttemptContext | undefined): Promise<AttemptOutcome | undefined> {
    const { journal, input, docker } = this.#options
    const volumeKept = context?.workspace.kept ?? false
    journal.append({
      type: 'attempt.started',
      engineVersion: VERSION,
      docker: { version: docker.version, api: docker.api },
      volumeKept,
      ...defined({ resume: input.resume }),
    })
    if (context === undefined) return this.#broken
    if (input.attempt > 1 || input.resume !== undefined) this.#resume(volumeKept)
    await this.#system.say(
      `Docker ${docker.version} at ${docker.host}; the shared volume is ${volumeKept ? 'kept from the previous attempt' : 'ready'}.`,
    )
    this.#services = this.#openServices(context)
    this.#cleaner = this.#startCleaner(context)
    prefetchImages(context, this.#buildContext(), this.#snapshot)
    addCleanup(context, 'sweep', sweepOld(docker, context.clock))
    addCleanup(context, 'sweep environments', sweepEnvironments(docker, context.clock))
    return (await this.#fetchResources(context)) ? this.#loop(context) : this.#broken
  }

  /** The log of the attempt. Opened by its first line, because a full disk refuses to open it. */
  get #system(): StepOutput {
    return (this.#systemOutput ??= this.#openOutput(SYSTEM_STREAM))
  }

  /**
   * Copies resources from other repositories to the volume. Returns false and sets `#broken` if that fails. If the build is stopped meanwhile, its
   * clean-up steps run without them.
   */
  async #fetchResources(context: AttemptContext): Promise<boolean> {
    const { plan, secrets } = this.#options.input
    const scope = buildScope({ plan, snapshot: this.#snapshot, builtins: builtinsOf(this.#options), secrets })
    const signal = this.#untilStopped()
    try {
      await copyResources({ context, output: this.#system, signal, step: { name: 'resources' } }, scope)
      return true
    } catch (error) {
      if (signal.aborted) return true
      this.#break(error)
      return false
    }
  }

  /** Prepares the daemon. Returns undefined and sets `#broken` if that fails. */
  async #open(): Promise<AttemptContext | undefined> {
    this.#receiveCommands(this.#options.commands).catch((error: unknown) => this.#break(error))
    const say = (line: string): Promise<void> => this.#system.say(line)
    try {
      return await openContext(this.#options, { end: this.#end, stop: this.#untilStopped(), redact: this.#redact, say })
    } catch (error) {
      this.#break(this.#opening.signal.aborted ? this.#opening.signal.reason : error)
      return undefined
    }
  }

  /** Returns the signal for a wait before the first step: aborted when the process must end, or the build is stopped. */
  #untilStopped(): AbortSignal {
    return AbortSignal.any([this.#options.signal, this.#opening.signal])
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
      openLog: (owner) => this.#openOutput(serviceStream(owner)),
    })
  }

  async #loop(context: AttemptContext): Promise<AttemptOutcome | undefined> {
    watchDaemon(context, { signal: this.#end, onLost: (error) => this.#break(error) })
    for (;;) {
      this.#wake = Promise.withResolvers()
      if (this.#options.signal.aborted) return this.#awaitSteps()
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
      await this.#system.say(`"${step}" failed; try ${number} starts in ${Math.round(delayMs / 100) / 10} s.`)
  }

  /** Waits for the steps that are being stopped. The attempt has no outcome then. */
  async #awaitSteps(): Promise<undefined> {
    while (this.#running.size > 0 && this.#broken === undefined) {
      await this.#wake.promise
      this.#wake = Promise.withResolvers()
    }
    return undefined
  }

  /** Flushes the logs of services before the end. A lost daemon may not answer, so the wait is limited then. */
  async #closeServices(): Promise<void> {
    const closed = this.#services?.close()
    await (this.#broken === undefined ? closed : Promise.race([closed, this.#options.clock.sleep(SERVICE_LOGS_MS)]))
  }

  async #finish(outcome: AttemptOutcome | undefined): Promise<AttemptOutcome | undefined> {
    if (outcome === undefined || this.#options.signal.aborted) return undefined
    await recordOutcome(this.#options, outcome, this.#redact)
    return outcome
  }

  #carryOut(context: AttemptContext, decision: Extract<Decision, { type: 'start' | 'finish' }>): void {
    const { plan } = this.#options.input
    if (decision.type === 'finish') {
      this.#groups.end(decision.step)
      void this.#services?.release(decision.step)
      this.#record(decidedEnd(decision, (value) => this.#redact(value) !== value))
      return
    }
    const step = plan.steps.find(({ name }) => name === decision.step)
    this.#record({ type: 'step.started', step: decision.step, try: decision.try })
    if (step === undefined || this.#broken !== undefined) return
    switch (kindOf(step.action).performedBy) {
      case 'children':
        return this.#beginGroup(step)
      case 'user':
        this.#record({ type: 'step.waiting', step: step.name, reason: 'approval' })
        return this.#wake.resolve()
      case 'engine':
        void this.#runStep(context, step)
    }
  }

  /** Continues from the end of the previous attempt. The timeouts of running groups start again. */
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
    this.#record({ type: 'step.started', step: name, try: number, resets: [...resets] })
    const step = this.#options.input.plan.steps.find((candidate) => candidate.name === name)
    if (step !== undefined) this.#beginGroup(step)
    this.#wake.resolve()
  }

  #expire(group: string, limitMs: number): void {
    const inside = stepsInside(this.#options.input.plan, group)
    const message = `"${group}" exceeded its time limit of ${limitMs / 1000} s.`
    this.#stopAll(new StepStop('error', 'timeout', message), (step) => inside.has(step))
  }

  /** Returns the current values of names, for a step or for the whole build. */
  #scope(step?: string): BuildScope {
    const { plan, secrets } = this.#options.input
    const context = this.#buildContext()
    const workflowResult = step === undefined ? undefined : workflowResultAt(plan, this.#snapshot, { context, step })
    return buildScope({ plan, snapshot: this.#snapshot, builtins: context.builtins, secrets, workflowResult, step })
  }

  async #runStep(context: AttemptContext, step: PlanStep): Promise<void> {
    const controller = new AbortController()
    this.#running.set(step.name, controller)
    try {
      const output = this.#openOutput(stepStream(step.name))
      const scope = (): BuildScope => this.#scope(step.name)
      const membersOf = (name: string) => stateOf(this.#snapshot, name).members
      const onTry = (number: number): void => this.#record({ type: 'step.started', step: step.name, try: number })
      const onHold = (phase: DebugPhase): void =>
        this.#record({ type: 'step.waiting', step: step.name, reason: 'debugger', phase })
      const { signal } = controller
      const { observer } = this.#options
      const meter = openMeter({
        docker: context.docker,
        clock: context.clock,
        onUsage: (usage) => void this.#options.journal.append({ type: 'step.usage', step: step.name, usage }),
        onSample: observer && ((sample) => observer.sample(step.name, sample)),
      })
      using phases = openPhases({
        clock: context.clock,
        onLong: ({ phase, at }) => void this.#options.journal.append({ type: 'step.phase', step: step.name, phase, since: at }),
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
        phases,
        debugger: this.#debugger,
      })
      const ended = phases.end()
      await output.end()
      this.#recordEnd(step.name, end, { streams: await lengthsOf(this.#options.journal, step.name), phases: ended })
    } catch (error) {
      this.#break(error, step.name)
    } finally {
      this.#running.delete(step.name)
      this.#wake.resolve()
    }
  }

  #recordEnd(step: string, end: StepEnd, known: Parameters<typeof performedEnd>[2]): void {
    // An engine that is stopping or that lost its daemon records no outcome: the next attempt runs these steps again.
    if (this.#options.signal.aborted || this.#broken !== undefined) return
    this.#record(performedEnd(step, end, known))
  }

  readonly #redact = (text: string): string => maskText(this.#secrets(this.#snapshot), text)

  /** Writes an event to the journal and folds it into the snapshot. A full spool ends the attempt. */
  #record(fact: StepEvent): void {
    try {
      const event = this.#options.journal.append(redactEvent(fact, this.#redact))
      this.#snapshot = fold(this.#snapshot, { ...fact, at: event.at })
    } catch (error) {
      // Timers and commands record events, too, and have no caller that could handle this.
      if (!isFault(error, 'spool-full')) throw error
      this.#break(error, fact.step)
    }
  }

  /** Ends the attempt after a lost daemon, a full disk or a bug. Results of steps no longer count; running steps stay `running` and are run again. */
  #break(error: unknown, step?: string): void {
    const { log } = this.#options
    const reason = reasonOf(error)
    const status = error instanceof StepStop ? error.status : 'error'
    const message = messageOf(error)
    if (reason === 'internal') log.error({ err: error, step }, 'attempt failed')
    else log.warn({ reason, message, step }, 'attempt failed')
    this.#broken ??= { status, reason, message: clip(message), ...defined({ step }) }
    this.#stopAll(new StepStop('error', reason, message))
    this.#wake.resolve()
  }

  async #receiveCommands(commands: AsyncIterable<Command>): Promise<void> {
    for await (const command of commands) {
      if (isDebugCommand(command)) this.#debugger.handle(command)
      if (command.type === 'decide') this.#decided(command)
      if (command.type === 'terminate') this.#cancel(stopFor(command))
    }
  }

  #cancel(stop: StepStop): void {
    // The first request to stop lets clean-up steps run; the second stops those too.
    this.#forced = this.#cancelled !== undefined
    this.#cancelled ??= stop.reason
    const { plan } = this.#options.input
    this.#opening.abort(stop)
    this.#stopAll(stop, (step) => this.#forced || !isInOnFinish(plan, step))
    this.#wake.resolve()
  }

  /** Records the decision about an approval. A timeout of the approval ends the build. */
  #decided({ step, decision, by }: Extract<Command, { type: 'decide' }>): void {
    const { status } = stateOf(this.#snapshot, step)
    // A decision that arrives while this engine ends is left to the next one, because nothing would act on it here.
    if (this.#isEnding || isFinalStep(status) || status === 'pending') return
    this.#record({ type: 'step.decided', step, decision, by })
    if (decision === 'terminated')
      this.#cancel(new StepStop('terminated', 'approval-timeout', 'The approval timed out without a decision.'))
    this.#wake.resolve()
  }

  #stopAll(stop: StepStop, matches: (step: string) => boolean = () => true): void {
    for (const [step, controller] of this.#running) if (matches(step)) controller.abort(stop)
    this.#wake.resolve()
  }

  #buildContext(): BuildContext {
    const { input, only = input.only, skip = input.skip } = this.#options
    const { secrets } = input
    const { expired } = this.#groups
    return { builtins: builtinsOf(this.#options), secrets, cancelled: this.#cancelled, forced: this.#forced, only, skip, expired }
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

/** How long the logs of services may take to end if the daemon is lost. Milliseconds. */
const SERVICE_LOGS_MS = 2_000
