/**
 * Records which run uses the kept volume of a document. A hold is an empty volume with a fixed name on the daemon that has the kept volume, so
 * that machines that share a daemon see each other's holds. If several runs create the same name, the daemon keeps the labels of the first.
 *
 * A new hold does not replace that of an ended process but gets the next number, because removing a volume by name and creating it again
 * could remove the hold of a faster run.
 */
import type { Docker } from '@windlass/engine'
import type { Clock } from '@windlass/kit'
import { z } from 'zod'
import { MAX_UNKNOWN_AGE_MS, livenessOf, parseIdentity, thisProcess, type ProcessIdentity } from './process-identity.ts'

export interface HoldRequest {
  readonly docker: Docker
  readonly clock: Clock
  readonly volume: string
  readonly buildId: string
}

/** The run that uses the volume. */
export interface Holder {
  readonly owner: ProcessIdentity
  /** Epoch milliseconds. */
  readonly since: number
  /** Name of the hold's volume. */
  readonly hold: string
  /** False if the process belongs to another machine and may have ended. */
  readonly isCertain: boolean
}

const LABEL_HOLDS = 'windlass.io/holds'
const LABEL_RUN = 'windlass.io/run'
const LABEL_OWNER = 'windlass.io/owner'
const LABEL_SINCE = 'windlass.io/since'

/** Takes the volume for a build until `releaseHold`. Returns the holder if another run that may still be running has it. */
export async function takeHold(request: HoldRequest): Promise<Holder | undefined> {
  const { docker, clock, volume, buildId } = request
  const before = await readHolds(request)
  const holder = before.find(({ isLive }) => isLive)
  if (holder !== undefined) return holder
  const name = `windlass-hold-${volume}-${1 + Math.max(0, ...before.map(({ number }) => number))}`
  const since = clock.now()
  const { labels } = await docker.createVolume(name, {
    [LABEL_HOLDS]: volume,
    [LABEL_RUN]: buildId,
    [LABEL_OWNER]: JSON.stringify(await thisProcess()),
    [LABEL_SINCE]: String(since),
  })
  // Another run created this number first.
  if (labels[LABEL_RUN] !== buildId) return evaluate({ name, labels }, since)
  const after = await readHolds(request)
  const other = after.find(({ hold, isLive }) => isLive && hold !== name)
  // All holds were removed between reading and creating, so numbering started again. One of the two holds must be removed.
  if (other !== undefined) {
    await docker.removeVolume(name)
    return other
  }
  for (const { hold, isLive } of after) if (!isLive) await docker.removeVolume(hold)
  return undefined
}

/** Releases the hold of a build, even if its process has ended. */
export async function releaseHold(docker: Docker, buildId: string): Promise<void> {
  for (const { name } of await docker.listUnusedVolumes([`${LABEL_RUN}=${buildId}`])) await docker.removeVolume(name)
}

interface FoundHold extends Holder {
  readonly number: number
  readonly isLive: boolean
}

async function readHolds({ docker, clock, volume }: HoldRequest): Promise<FoundHold[]> {
  const found = await docker.listUnusedVolumes([`${LABEL_HOLDS}=${volume}`])
  const now = clock.now()
  return Promise.all(found.map((hold) => evaluate(hold, now)))
}

const Labels = z.object({ [LABEL_OWNER]: z.string(), [LABEL_SINCE]: z.coerce.number() })
const UNKNOWN: ProcessIdentity = { host: 'an unknown machine', machine: '', boot: '', space: '', pid: 1, startedAt: '' }

/** Evaluates a hold. One with unknown labels was created by another version and counts as long as one of another machine. */
async function evaluate(
  { name, labels }: { readonly name: string; readonly labels: Readonly<Record<string, string>> },
  now: number,
): Promise<FoundHold> {
  const read = Labels.safeParse(labels)
  const since = read.success ? read.data[LABEL_SINCE] : 0
  const owner = (read.success ? parseIdentity(read.data[LABEL_OWNER]) : undefined) ?? UNKNOWN
  const liveness = await livenessOf(owner, since, now)
  const isLive = liveness === 'alive' || (liveness === 'unknown' && now - since < MAX_UNKNOWN_AGE_MS)
  return { owner, since, hold: name, isCertain: liveness === 'alive', isLive, number: Number(/\d+$/.exec(name)?.[0] ?? 0) }
}
