/**
 * Decides where a debug run stops, and holds the steps there. A hold ends by a command, by `exit` in one of its shells, or by a timeout without
 * activity. Terminals reach the user through `report/terminal-link.ts` or a local callback.
 */
import { fault, type Clock } from '@windlass/kit'
import type { ExportedVariable, PlanStep } from '@windlass/plan'
import {
  DEBUG_TIMEOUT_MS,
  type Command,
  type DebugAction,
  type DebugPhase,
  type DebugSettings,
  type TerminalShape,
} from '@windlass/protocol'
import type { Automaton } from '../output/mask.ts'
import type { StepOutput } from '../output/step-output.ts'
import type { AttemptContext } from '../attempt/context.ts'
import { openDebugContainer, type DebugContainer, type DebugContainerSpec } from './debug-container.ts'
import { openTerminal, type Terminal } from './terminal.ts'
import type { HeldStep, DebugLink } from './link.ts'

export interface DebuggerOptions {
  readonly settings: DebugSettings | undefined
  /** Hold time of a step if the settings have none. Default `DEBUG_TIMEOUT_MS`. */
  readonly timeoutMs?: number | undefined
  readonly clock: Clock
  readonly link: DebugLink
  /** Opens the recording of a terminal and returns the secrets to mask in it. */
  readonly openRecord: (terminal: string) => { readonly output: StepOutput; readonly secrets: Automaton | undefined }
  /** Called when a hold timed out and the build must stop. */
  readonly onTimeout: (step: string) => void
}

export interface HoldRequest {
  readonly context: AttemptContext
  readonly step: string
  readonly phase: DebugPhase
  readonly output: StepOutput
  /** The signal of the step, aborted with its reason. */
  readonly signal: AbortSignal
  readonly spec: DebugContainerSpec
  readonly shell: 'sh' | 'bash'
  /** The container replaces the step, so it is created at once. */
  readonly isStep?: boolean
}

export interface HoldEnd {
  readonly action: Exclude<DebugAction, 'extend'>
  /** Variables that `cf_export` exported in terminals. */
  readonly exports: readonly ExportedVariable[]
}

type DebugCommand = Extract<Command, { type: 'debug' | 'debug-continue' | 'terminal' }>

export function isDebugCommand(command: Command): command is DebugCommand {
  return command.type === 'debug' || command.type === 'debug-continue' || command.type === 'terminal'
}

export class Debugger {
  readonly #options: DebuggerOptions
  readonly #holds = new Map<string, Hold>()
  #settings: DebugSettings | undefined

  constructor(options: DebuggerOptions) {
    this.#options = options
    this.#settings = options.settings
  }

  /** Returns true if the step must be held in this phase. Always false outside of debug runs. */
  stopsAt({ name, breakpoints = [] }: Pick<PlanStep, 'name' | 'breakpoints'>, phase: DebugPhase): boolean {
    const settings = this.#settings
    if (settings === undefined) return false
    if (settings.steps[name]?.includes(phase) === true) return true
    return phase === 'failure' ? settings.onFailure : breakpoints.includes(phase)
  }

  /** Holds a step until it may continue. Rejects with the reason of `signal`, or if its container cannot be created. */
  async hold(request: HoldRequest): Promise<HoldEnd> {
    const { context, step, spec, signal, output, phase } = request
    const container = openDebugContainer(context, step, spec)
    const hold = new Hold(request, container, this.#options)
    // Registered first: a client that learns of the hold finds it at once. Terminals wait for the container.
    this.#holds.set(step, hold)
    try {
      if (request.isStep === true) await container.start()
      await output.say(`${HELD[phase]} Attach with \`windlass debug\`; \`exit\` continues the step.`)
      this.#options.link.onHeld?.(hold)
      const action = await this.#awaitRelease(hold, signal)
      return { action, exports: await container.close() }
    } catch (error) {
      await container.close().catch(() => undefined)
      throw error
    } finally {
      this.#holds.delete(step)
      hold.end()
    }
  }

  /** Handles a debugger command. A command that comes too late has no effect. */
  handle(command: DebugCommand): void {
    if (command.type === 'debug') {
      this.#settings = command.settings
      return
    }
    const hold = this.#holds.get(command.step)
    if (command.type === 'debug-continue') return hold?.resume(command.action)
    const opened = hold?.open(command.terminal, command) ?? Promise.reject(notHeld(command.step))
    opened.catch(() => undefined)
    void this.#options.link.serve?.(command.terminal, opened)
  }

  async #awaitRelease(hold: Hold, signal: AbortSignal): Promise<HoldEnd['action']> {
    const { clock, onTimeout, timeoutMs = DEBUG_TIMEOUT_MS } = this.#options
    const over = new AbortController()
    const stopped = Promise.withResolvers<never>()
    stopped.promise.catch(() => undefined)
    signal.addEventListener('abort', () => stopped.reject(signal.reason), { once: true, signal: over.signal })
    signal.throwIfAborted()
    try {
      for (;;) {
        const settings = this.#settings
        // Turning the debug run off releases its holds.
        const rest = settings === undefined ? 0 : hold.lastActivityAt + (settings.timeoutMs ?? timeoutMs) - clock.monotonic()
        const pause = clock.sleep(Math.max(0, Math.min(rest, POLL_MS)), over.signal).then(() => undefined)
        pause.catch(() => undefined)
        const action = await Promise.race([hold.decided, stopped.promise, pause])
        if (action !== undefined) return action
        if (rest > 0) continue
        if (settings === undefined || settings.onTimeout === 'continue') return 'continue'
        onTimeout(hold.step)
        return await stopped.promise
      }
    } finally {
      over.abort()
    }
  }
}

/** How often to check the end of a hold, which settings and key presses postpone. Milliseconds. */
const POLL_MS = 1_000

const HELD: Readonly<Record<DebugPhase, string>> = {
  before: 'Held by the debugger before the step.',
  override: 'Held by the debugger instead of the step: its commands are not run.',
  after: 'Held by the debugger after the step.',
  failure: 'Held by the debugger, because the step failed.',
}

function notHeld(step: string): Error {
  return fault('not-held', { message: `The debugger does not hold the step "${step}".` })
}

class Hold implements HeldStep {
  readonly step: string
  readonly phase: DebugPhase
  readonly released: Promise<void>
  readonly decided: Promise<HoldEnd['action']>
  /** Time of the last key press or extension. Monotonic clock. */
  lastActivityAt: number
  readonly #request: HoldRequest
  readonly #container: DebugContainer
  readonly #options: DebuggerOptions
  readonly #decide: (action: HoldEnd['action']) => void
  readonly #release: () => void
  #isOver = false

  constructor(request: HoldRequest, container: DebugContainer, options: DebuggerOptions) {
    this.step = request.step
    this.phase = request.phase
    this.#request = request
    this.#container = container
    this.#options = options
    this.lastActivityAt = options.clock.monotonic()
    const decided = Promise.withResolvers<HoldEnd['action']>()
    const released = Promise.withResolvers<void>()
    this.decided = decided.promise
    this.released = released.promise
    this.#decide = decided.resolve
    this.#release = released.resolve
  }

  resume(action: DebugAction): void {
    if (action === 'extend') this.#touch()
    else this.#decide(action)
  }

  async open(terminal: string, shape: TerminalShape): Promise<Terminal> {
    if (this.#isOver) throw notHeld(this.step)
    this.#touch()
    const container = await this.#container.start()
    const { output, secrets } = this.#options.openRecord(terminal)
    const { docker, clock } = this.#request.context
    const opened = await openTerminal({
      docker,
      clock,
      container,
      shape,
      shell: this.#request.shell,
      secrets,
      record: output,
      onInput: () => this.#touch(),
    })
    // Leaving the shell means that the user is done; the end of a single command does not.
    if (shape.command === undefined) opened.ended.then(() => this.#decide('continue')).catch(() => undefined)
    return opened
  }

  end(): void {
    this.#isOver = true
    this.#release()
  }

  #touch(): void {
    this.lastActivityAt = this.#options.clock.monotonic()
  }
}
