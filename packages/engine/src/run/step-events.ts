/** The events with which steps end. Pure. */
import { defined } from '@windlass/kit'
import type { Decision, StepFact } from '@windlass/plan'
import type { EngineEventBody, PhaseStart } from '@windlass/protocol'
import { clip } from '../attempt/clip.ts'
import { sealedNames, type StepEnd } from '../steps/run-step.ts'

/** An event about a step, without the number that the journal adds. */
export type StepEvent = Extract<EngineEventBody, { type: StepFact['type'] }>

/** Returns the event of a step that ended without being run: it was skipped, or it is a group. `isSecret` is true for values with a secret. */
export function decidedEnd(
  { step, status, reason, message, outputs }: Extract<Decision, { type: 'finish' }>,
  isSecret: (value: string) => boolean,
): StepEvent {
  return {
    type: 'step.finished',
    step,
    try: 0,
    status,
    reason,
    message: clip(message),
    ...(outputs !== undefined && { outputs: { ...outputs } }),
    ...defined({ sealed: sealedNames({ members: {}, outputs }, isSecret) }),
    members: {},
    exports: [],
  }
}

/** Returns the event of a step that was run. `streams` are the lengths of its logs in bytes. */
export function performedEnd(
  step: string,
  { try: number, status, reason, message, hint, exitCode, members, exports, outputs, sealed, usage, image }: StepEnd,
  { streams, phases }: { readonly streams: Record<string, number>; readonly phases: readonly PhaseStart[] },
): StepEvent {
  return {
    type: 'step.finished',
    step,
    try: number,
    status,
    reason,
    message: clip(message),
    hint: clip(hint),
    exitCode,
    members: { ...members },
    exports: exports.map(({ name, value, secret }) => ({ name, value, secret })),
    ...(outputs !== undefined && { outputs: { ...outputs } }),
    ...defined({ sealed, usage }),
    ...(image !== undefined && { image: { ...image } }),
    ...(phases.length > 0 && { phases: [...phases] }),
    streams,
  }
}
