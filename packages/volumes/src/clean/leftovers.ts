/** Finds objects of builds that are older than any build allows. */

export interface BuildObject {
  readonly kind: 'dind' | 'engine' | 'claim'
  readonly uid: string
  /** Build and attempt of the object. */
  readonly attempt: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Time at which a pod ended; undefined while it runs and for claims. */
  readonly endedAt: number | undefined
  /** Only of claims. */
  readonly isBound: boolean
  /** Value of `windlass.io/expires` in epoch milliseconds: the maximum lifetime that was set at creation. */
  readonly expiresAt: number | undefined
  /** Time until which the disk of a claim is kept for a build. */
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

/** Ages by reason. Milliseconds. */
export const LEFTOVER_AGES: Readonly<Record<LeftoverReason, number>> = {
  'dind-without-engine': 10 * MINUTE_MS,
  'claim-without-dind': HOUR_MS,
  'engine-completed': 3 * HOUR_MS,
  'dind-too-old': 24 * HOUR_MS,
  'engine-too-old': 72 * HOUR_MS,
  'claim-too-old': 72 * HOUR_MS,
}

/**
 * Returns why an object is a leftover at `now`, or undefined if it is not. Two facts must agree: its age, and that its counterpart is
 * missing, that it has ended, or that its own lifetime is over.
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
