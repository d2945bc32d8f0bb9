/** Breakpoints on the command line. */
import { fault } from '@windlass/kit/faults'
import { DEBUG_PHASES, type DebugInput, type DebugPhase } from '@windlass/protocol'

/** Parses `STEP:PHASE` entries. Throws `usage`. */
export function parseBreakpoints(entries: readonly string[]): Record<string, DebugPhase[]> {
  const steps: Record<string, DebugPhase[]> = {}
  for (const entry of entries) {
    const at = entry.lastIndexOf(':')
    const phase = DEBUG_PHASES.find((name) => name === entry.slice(at + 1))
    if (at < 1 || phase === undefined)
      throw fault('usage', {
        message: `"${entry}" is not a breakpoint.`,
        hint: `Write STEP:PHASE, where the phase is one of ${DEBUG_PHASES.join(', ')}.`,
      })
    const step = entry.slice(0, at)
    steps[step] = [...(steps[step] ?? []), phase]
  }
  return steps
}

export interface DebugFlags {
  readonly debug: boolean
  readonly break: readonly string[]
  readonly onFailure: boolean
}

/** Returns the `debug` field of a new build, or nothing if no flag is given. */
export function toDebugInput(options: DebugFlags): { debug?: DebugInput } {
  if (!options.debug && options.break.length === 0 && !options.onFailure) return {}
  return { debug: { steps: parseBreakpoints(options.break), onFailure: options.onFailure } }
}
