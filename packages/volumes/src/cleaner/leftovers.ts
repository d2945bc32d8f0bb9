/** Removes pods and claims of builds that are left over, in case both server and agent have lost track of them. */
import type { Clock, Logger } from '@windlass/kit'
import { refOf, type Kube, type KubeObject } from '@windlass/kube'
import { CLAIM_NOTE, LABEL } from '@windlass/protocol'
import { z } from 'zod'
import { leftoverReason, type BuildObject } from '../clean/leftovers.ts'
import { maxRemovals } from './removal-limit.ts'

export interface LeftoversOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly namespaces: readonly string[]
  readonly dryRun: boolean
  readonly signal: AbortSignal
}

interface Seen {
  readonly object: KubeObject
  readonly facts: BuildObject
}

/** Checks every namespace once and returns the names of removed objects. Throws faults of the cluster. */
export async function removeLeftovers(options: LeftoversOptions): Promise<readonly string[]> {
  const removed: string[] = []
  for (const namespace of options.namespaces) removed.push(...(await removeOf(options, namespace)))
  options.log.info({ removed: removed.length, namespaces: options.namespaces, dryRun: options.dryRun }, 'checked for leftovers')
  return removed
}

async function removeOf(options: LeftoversOptions, namespace: string): Promise<string[]> {
  const { kube, clock, log, dryRun, signal } = options
  const first = await listObjects(options, namespace)
  const suspects = first.filter(({ facts }) => reasonOf(facts, first, clock.now()) !== undefined)
  if (suspects.length === 0) return []
  // List again: objects that were created between the two lists of the first check are included now.
  const second = await listObjects(options, namespace)
  const removed: string[] = []
  for (const { object, facts } of second) {
    if (removed.length >= maxRemovals(first.length)) break
    const reason = reasonOf(facts, second, clock.now())
    if (reason === undefined || !suspects.some((suspect) => suspect.facts.uid === facts.uid)) continue
    const { name } = object.metadata
    log.warn({ kind: object.kind, name, namespace, reason, dryRun }, 'removing a leftover')
    if (!dryRun) await kube.delete(refOf(object), { uid: facts.uid, signal })
    removed.push(name)
  }
  return removed
}

function reasonOf(facts: BuildObject, all: readonly Seen[], now: number): ReturnType<typeof leftoverReason> {
  return leftoverReason(
    facts,
    all.map((seen) => seen.facts),
    now,
  )
}

async function listObjects({ kube, signal }: LeftoversOptions, namespace: string): Promise<Seen[]> {
  const kinds = ['PersistentVolumeClaim', 'Pod'] as const
  const lists = await Promise.all(kinds.map((kind) => kube.list({ kind, namespace, labels: LABEL.build }, signal)))
  return lists.flat().flatMap((object) => {
    const facts = readFacts(object)
    return facts === undefined ? [] : [{ object, facts }]
  })
}

const Status = z.looseObject({
  phase: z.string().default(''),
  containerStatuses: z
    .array(
      z.looseObject({
        state: z.looseObject({ terminated: z.looseObject({ finishedAt: z.string().nullish() }).optional() }).prefault({}),
      }),
    )
    .default([]),
})

function readFacts(object: KubeObject): BuildObject | undefined {
  const { labels = {}, annotations = {}, uid, creationTimestamp, deletionTimestamp } = object.metadata
  const kind =
    object.kind === 'PersistentVolumeClaim' ? 'claim' : ({ dind: 'dind', runtime: 'engine' } as const)[labels[LABEL.app] ?? '']
  const createdAt = Date.parse(creationTimestamp ?? '')
  if (kind === undefined || uid === undefined || Number.isNaN(createdAt) || deletionTimestamp !== undefined) return undefined
  const status = Status.parse(object['status'] ?? {})
  return {
    kind,
    uid,
    attempt: `${labels[LABEL.build]}/${labels[LABEL.attempt] ?? ''}`,
    createdAt,
    endedAt: endOf(status, createdAt),
    isBound: status.phase === 'Bound',
    expiresAt: Number(labels[LABEL.expires]) * 1000 || undefined,
    keptUntil: Date.parse(annotations[CLAIM_NOTE.keepUntil] ?? '') || undefined,
  }
}

/** Returns when a pod ended. Without container states it counts as ended when it was created. */
function endOf({ phase, containerStatuses }: z.output<typeof Status>, createdAt: number): number | undefined {
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined
  const ends = containerStatuses.map(({ state }) => Date.parse(state.terminated?.finishedAt ?? ''))
  return Math.max(createdAt, ...ends.filter((end) => !Number.isNaN(end)))
}
