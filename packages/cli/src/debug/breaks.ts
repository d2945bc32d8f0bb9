/** Where a build is to stop, as the command line says it. */
import { fault } from '@windlass/kit/faults'
import { DEBUG_PHASES, type DebugInput, type DebugPhase } from '@windlass/protocol'

/** `STEP:PHASE` entries. Throws `usage`. */
export function parseBreaks(entries: readonly string[]): Record<string, DebugPhase[]> {
  const steps: Record<string, DebugPhase[]> = {}
  for (const entry of entries) {
    const at = entry.lastIndexOf(':')
    const phase = DEBUG_PHASES.find((name) => name === entry.slice(at + 1))
    if (at < 1 || phase === undefined)
      throw fault('usage', {
        message: `'${entry}' is not of the form STEP:PHASE.`,
        hint: `The phases are ${DEBUG_PHASES.join(', ')}.`,
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

/** `debug` of a new build; nothing where none of the flags is given. */
export function toDebugInput(options: DebugFlags): { debug?: DebugInput } {
  if (!options.debug && options.break.length === 0 && !options.onFailure) return {}
  return { debug: { steps: parseBreaks(options.break), onFailure: options.onFailure } }
}
