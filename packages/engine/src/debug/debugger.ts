/**
 * Where a debug run stops, and the steps that it holds. A hold ends by somebody's word, when a shell in it is left by `exit`, or when nobody
 * attends to it for too long. Not here: how terminals reach a person (`report/terminal-link.ts`, or a callback on this machine).
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
import { openBox, type Box, type BoxSpec } from './box.ts'
import { openTerminal, type Terminal } from './terminal.ts'

/** A step that is held, for whoever attends to it. */
export interface HeldStep {
  readonly step: string
  readonly phase: DebugPhase
  /** Opens a terminal in the container of the step. Throws `docker-refused`, or `not-held` when the step went on meanwhile. */
  open(terminal: string, shape: TerminalShape): Promise<Terminal>
  resume(action: DebugAction): void
  /** Resolves when the step goes on or ends. */
  readonly released: Promise<void>
}

/** Who is told of the debugger's news. */
export interface DebugLink {
  /** A step is held from now on. */
  onHeld?(held: HeldStep): void
  /** A terminal was asked for by a command; what it shows and takes goes through the link. Never rejects. */
  serve?(terminal: string, opened: Promise<Terminal>): Promise<void>
}

export interface DebuggerOptions {
  readonly settings: DebugSettings | undefined
  /** How long a step is held when the settings do not say; `DEBUG_TIMEOUT_MS` when absent. */
  readonly timeoutMs?: number | undefined
  readonly clock: Clock
  readonly link: DebugLink
  /** Where a terminal is recorded, and what is masked in it. */
  readonly openRecord: (terminal: string) => { readonly output: StepOutput; readonly secrets: Automaton | undefined }
  /** A hold was not attended to, and the build is to stop. */
  readonly onTimeout: (step: string) => void
}

export interface HoldRequest {
  readonly context: AttemptContext
  readonly step: string
  readonly phase: DebugPhase
  readonly output: StepOutput
  /** Of the step; aborted with its reason. */
  readonly signal: AbortSignal
  readonly spec: BoxSpec
  readonly shell: 'sh' | 'bash'
  /** The step is its container: make it at once. */
  readonly isStep?: boolean
}

export interface HoldEnd {
  readonly action: Exclude<DebugAction, 'extend'>
  /** What was handed on by `cf_export` in terminals. */
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

  /** True when the step is to be held there. Nothing is held outside of debug runs. */
  stopsAt({ name, breakpoints = [] }: Pick<PlanStep, 'name' | 'breakpoints'>, phase: DebugPhase): boolean {
    const settings = this.#settings
    if (settings === undefined) return false
    if (settings.steps[name]?.includes(phase) === true) return true
    return phase === 'failure' ? settings.onFailure : breakpoints.includes(phase)
  }

  /** Holds a step until it may go on. Rejects with the reason of `signal`, or as making its container does. */
  async hold(request: HoldRequest): Promise<HoldEnd> {
    const { context, step, spec, signal, output, phase } = request
    const box = openBox(context, step, spec)
    const hold = new Hold(request, box, this.#options)
    // Whoever is told that the step is held finds it at once; terminals wait for the container by themselves.
    this.#holds.set(step, hold)
    try {
      if (request.isStep === true) await box.container()
      await output.say(`${SAID[phase]} Look around with \`windlass debug\`; it goes on after \`exit\`.`)
      this.#options.link.onHeld?.(hold)
      const action = await this.#untilReleased(hold, signal)
      return { action, exports: await box.close() }
    } catch (error) {
      await box.close().catch(() => undefined)
      throw error
    } finally {
      this.#holds.delete(step)
      hold.end()
    }
  }

  /** Carries out a command about the debugger; one that comes too late has no effect. */
  obey(command: DebugCommand): void {
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

  async #untilReleased(hold: Hold, signal: AbortSignal): Promise<HoldEnd['action']> {
    const { clock, onTimeout, timeoutMs = DEBUG_TIMEOUT_MS } = this.#options
    const over = new AbortController()
    const stopped = Promise.withResolvers<never>()
    stopped.promise.catch(() => undefined)
    signal.addEventListener('abort', () => stopped.reject(signal.reason), { once: true, signal: over.signal })
    signal.throwIfAborted()
    try {
      for (;;) {
        const settings = this.#settings
        // A debug run that is switched off lets go of what it holds.
        const rest = settings === undefined ? 0 : hold.attendedAt + (settings.timeoutMs ?? timeoutMs) - clock.monotonic()
        const pause = clock.sleep(Math.max(0, Math.min(rest, LOOK_MS)), over.signal).then(() => undefined)
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

/** Settings and key presses move the end of a hold: it is looked at that often. */
const LOOK_MS = 1_000

const SAID: Readonly<Record<DebugPhase, string>> = {
  before: 'Held by the debugger before the step.',
  override: 'Held by the debugger in the place of the step: its commands are not run.',
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
  /** When a key was last pressed, or more time asked for; by the clock that never jumps. */
  attendedAt: number
  readonly #request: HoldRequest
  readonly #box: Box
  readonly #options: DebuggerOptions
  readonly #decide: (action: HoldEnd['action']) => void
  readonly #release: () => void
  #isOver = false

  constructor(request: HoldRequest, box: Box, options: DebuggerOptions) {
    this.step = request.step
    this.phase = request.phase
    this.#request = request
    this.#box = box
    this.#options = options
    this.attendedAt = options.clock.monotonic()
    const decided = Promise.withResolvers<HoldEnd['action']>()
    const released = Promise.withResolvers<void>()
    this.decided = decided.promise
    this.released = released.promise
    this.#decide = decided.resolve
    this.#release = released.resolve
  }

  resume(action: DebugAction): void {
    if (action === 'extend') this.#attend()
    else this.#decide(action)
  }

  async open(terminal: string, shape: TerminalShape): Promise<Terminal> {
    if (this.#isOver) throw notHeld(this.step)
    this.#attend()
    const container = await this.#box.container()
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
      onInput: () => this.#attend(),
    })
    // Leaving the shell means that the person is done; a command has only ended.
    if (shape.command === undefined) opened.ended.then(() => this.#decide('continue')).catch(() => undefined)
    return opened
  }

  end(): void {
    this.#isOver = true
    this.#release()
  }

  #attend(): void {
    this.attendedAt = this.#options.clock.monotonic()
  }
}
