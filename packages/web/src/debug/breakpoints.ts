/** Breakpoints as the page chooses them and as commands write them. */
import { shellWord } from '@windlass/plan'
import type { BuildStep, DebugPhase, DebugSettings } from '@windlass/protocol'

export const PHASES = [
  ['before', 'Before', 'before the step and its services'],
  ['override', 'In place', 'instead of the step: its commands do not run'],
  ['after', 'After', 'when the step has ended'],
  ['failure', 'On failure', 'when the step has failed'],
] as const satisfies readonly (readonly [DebugPhase, string, string])[]

/** Breakpoints as `step:phase`. */
export type Chosen = ReadonlySet<string>

export const keyOf = (step: string, phase: DebugPhase): string => `${step}:${phase}`

/** Returns the breakpoints of settings. */
export function chosenOf(settings: DebugSettings | undefined): Chosen {
  return new Set(Object.entries(settings?.steps ?? {}).flatMap(([step, phases]) => phases.map((phase) => keyOf(step, phase))))
}

/** Returns the field `steps` of a call. */
export function toSteps(chosen: Chosen): Record<string, DebugPhase[]> {
  const steps = new Map<string, DebugPhase[]>()
  for (const key of chosen) {
    const at = key.lastIndexOf(':')
    const phase = PHASES.find(([name]) => name === key.slice(at + 1))?.[0]
    if (phase !== undefined) steps.set(key.slice(0, at), [...(steps.get(key.slice(0, at)) ?? []), phase])
  }
  return Object.fromEntries(steps)
}

/** Returns the options of a command with these breakpoints. */
export function toFlags(chosen: Chosen, onFailure: boolean): string {
  return [...[...chosen].toSorted().map((key) => ` --break ${shellWord(key)}`), ...(onFailure ? [' --on-failure'] : [])].join('')
}

/** Returns why a step cannot stop in a phase, or undefined if it can. */
export function whyNotStop({ type, finishedAt }: BuildStep, phase: DebugPhase, isFinal: boolean): string | undefined {
  if (phase === 'override' && type !== 'freestyle') return 'Only freestyle steps can be replaced.'
  if (!isFinal && finishedAt !== undefined) return 'The step has ended.'
  return undefined
}
