/** Objects of builds that are older than anything of a build gets (runner specification 3.6, last row of the failure matrix). */

export interface BuildObject {
  readonly kind: 'dind' | 'engine' | 'claim'
  readonly uid: string
  /** Build and attempt that it belongs to. */
  readonly attempt: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Of a pod: when it ended. */
  readonly endedAt: number | undefined
  /** Of a claim. */
  readonly isBound: boolean
  /** `windlass.io/expires` in epoch milliseconds: whoever made it allows it that long. */
  readonly expiresAt: number | undefined
  /** Of a claim: until when its disk is kept for a build. */
  readonly keptUntil: number | undefined
}

export type LeftoverReason =
  | 'dind-without-engine'
  | 'claim-without-dind'
  | 'engine-completed'
  | 'dind-too-old'
  | 'engine-too-old'
  | 'claim-too-old'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Ages by reason, milliseconds. */
export const LEFTOVER_AGES: Readonly<Record<LeftoverReason, number>> = {
  'dind-without-engine': 10 * MINUTE_MS,
  'claim-without-dind': HOUR_MS,
  'engine-completed': 3 * HOUR_MS,
  'dind-too-old': 24 * HOUR_MS,
  'engine-too-old': 72 * HOUR_MS,
  'claim-too-old': 72 * HOUR_MS,
}

/**
 * Why an object is a leftover at `now`; undefined when it is not. Two facts must agree: its age, and that what it needs is missing, that
 * it has ended, or that its own time is over too.
 */
export function leftoverReason(object: BuildObject, all: readonly BuildObject[], now: number): LeftoverReason | undefined {
  const { kind, createdAt, endedAt, isBound, expiresAt, keptUntil } = object
  const isOlder = (reason: LeftoverReason, since = createdAt): boolean => now - since > LEFTOVER_AGES[reason]
  const hasPeer = (peer: BuildObject['kind']): boolean =>
    all.some((other) => other.kind === peer && other.attempt === object.attempt)
  const isOver = (expiresAt ?? 0) < now
  if (kind === 'dind') {
    if (!hasPeer('engine') && isOlder('dind-without-engine')) return 'dind-without-engine'
    return isOver && isOlder('dind-too-old') ? 'dind-too-old' : undefined
  }
  if (kind === 'engine') {
    if (endedAt !== undefined) return isOlder('engine-completed', endedAt) ? 'engine-completed' : undefined
    return isOver && isOlder('engine-too-old') ? 'engine-too-old' : undefined
  }
  if (keptUntil !== undefined && keptUntil > now) return undefined
  if (isBound && !hasPeer('dind') && isOlder('claim-without-dind')) return 'claim-without-dind'
  return isOver && isBound && isOlder('claim-too-old') ? 'claim-too-old' : undefined
}
