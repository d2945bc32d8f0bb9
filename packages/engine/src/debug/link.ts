/** The interface between the debugger and the terminals of users. */
import type { DebugAction, DebugPhase, TerminalShape } from '@windlass/protocol'
import type { Terminal } from './terminal.ts'

/** A held step, as passed to the debug link. */
export interface HeldStep {
  readonly step: string
  readonly phase: DebugPhase
  /** Opens a terminal in the container of the step. Throws `docker-refused`, or `not-held` if the step has continued meanwhile. */
  open(terminal: string, shape: TerminalShape): Promise<Terminal>
  resume(action: DebugAction): void
  /** Resolves when the step continues or ends. */
  readonly released: Promise<void>
}

/** Connects the debugger to its users. */
export interface DebugLink {
  /** Called when a step is held. */
  onHeld?(held: HeldStep): void
  /** Called when a command requests a terminal; its input and output go through the link. Never rejects. */
  serve?(terminal: string, opened: Promise<Terminal>): Promise<void>
}
