/**
 * What a reporter of a GitOps runtime sends, with the token of the runtime:
 *
 * POST /2.0/api/events  EventsBody -> EventsAnswer: states and deletions of applications, rollouts, their ReplicaSets and workflows, in JSON that may be compressed with gzip
 *
 * The path and both shapes of a payload are those of the event reporter that public runtimes have. Ours are a list in `data`, and the fields `reporter` and `fullState`.
 *
 * The earlier shape has an object in base64 in `object`, and manifests in `source`. The later one has manifests beside `source`. In both an empty `actualManifest` means that the object
 * is gone. Go writes null for absent lists and texts, so null counts as absent.
 */
import { z } from 'zod'
import { Time } from '../base.ts'
import { REPORTED_KINDS } from './reported-objects.ts'

/** Maximum size of a body, compressed and uncompressed. Bytes. */
export const MAX_EVENTS_BODY_BYTES = 8_388_608
/** Maximum number of payloads in one body. */
export const MAX_PAYLOADS = 100
/** Maximum number of parts into which a reporter can divide the applications of a runtime. */
export const MAX_SHARDS = 64
/** The time between two messages of our reporter is at most this. Milliseconds. */
export const REPORTER_ALIVE_MS = 60_000

/** A list is counted before its items are validated, because a runtime decides how many there are. */
const few = (most: number) =>
  z.custom<unknown[]>((items) => Array.isArray(items) && items.length <= most, {
    error: `must be a list with at most ${most.toLocaleString('en')} items`,
  })

const Manifest = z.string().nullish()
const Label = z.string().max(253).nullish()

const EventSource = z.looseObject({
  desiredManifest: Manifest,
  actualManifest: Manifest,
  /** The application that the object belongs to, or that is gone. */
  appName: Label,
  appNamespace: Label,
  appUID: Label,
})

/** A problem that the reporter found, besides the conditions of the application. */
const EventError = z.looseObject({
  type: z.string(),
  level: z.string().nullish(),
  message: z.string(),
  lastSeen: z.string().max(100).nullish(),
})

export const EventPayload = z.looseObject({
  /** When the reporter read the state, RFC 3339. */
  timestamp: z.string().max(100),
  /** Earlier shape: the object as JSON in base64. */
  object: z.string().nullish(),
  /** Later shape: the object in the cluster as JSON, empty if it is gone. */
  actualManifest: Manifest,
  desiredManifest: Manifest,
  source: EventSource.nullish(),
  errors: few(100).pipe(z.array(EventError)).nullish(),
})
export type EventPayload = z.output<typeof EventPayload>

/** The part of the applications and other objects that a reporter has: those with `shardOf(namespace, name, shards) === shard`. */
export const EventReporter = z.object({
  shard: z
    .int()
    .min(0)
    .max(MAX_SHARDS - 1),
  shards: z.int().min(1).max(MAX_SHARDS),
  version: z.string().max(50).optional(),
  /** True while the reporter cannot read all of its namespaces. The applications say then since when they may be out of date. */
  isBlind: z.boolean().optional(),
})
export type EventReporter = z.infer<typeof EventReporter>

/** Maximum number of names in one chunk. */
export const MAX_LISTED = 1_000

const Name = z.string().min(1).max(253)
/** Names an application that exists. */
export const ListedApplication = z.object({ namespace: Name, name: Name, version: z.string().max(100).optional() })
export type ListedApplication = z.infer<typeof ListedApplication>

/** Names a rollout, a ReplicaSet or a workflow that exists. */
export const ListedObject = ListedApplication.extend({ kind: z.enum(REPORTED_KINDS) })
export type ListedObject = z.infer<typeof ListedObject>

/**
 * The body is a chunk of everything that the reporter has: what its payloads have, and what it names. The server removes what no chunk had after the last one. Chunks
 * are sent one after the other, each until it is acknowledged.
 */
export const FullState = z.object({
  /** Random per full state. */
  id: z.string().min(8).max(100),
  /** When the reporter began to list. Epoch milliseconds of its clock. */
  startedAt: Time,
  /** From 1. */
  chunk: z.int().min(1).max(100_000),
  isLast: z.boolean(),
  listed: few(MAX_LISTED).pipe(z.array(ListedApplication)).optional(),
  /** Kinds of objects besides applications of which the reporter has all. Of other kinds nothing is removed, because a cluster may not have them or the reporter may not read them. */
  kinds: z.array(z.enum(REPORTED_KINDS)).max(REPORTED_KINDS.length).optional(),
  objects: few(MAX_LISTED).pipe(z.array(ListedObject)).optional(),
})
export type FullState = z.infer<typeof FullState>

export const EventsBody = z.looseObject({
  data: z
    .unknown()
    .transform((data) => (Array.isArray(data) ? data : [data]))
    .pipe(few(MAX_PAYLOADS))
    .pipe(z.array(EventPayload)),
  /** Absent for a reporter of other make, which has all applications. */
  reporter: EventReporter.optional(),
  fullState: FullState.optional(),
})
export type EventsBody = z.output<typeof EventsBody>

export const EventsAnswer = z.object({
  /** Payloads that changed what is stored. */
  taken: z.int().nonnegative(),
  /** Payloads that repeat, come late, are of another kind, or for which there is no room. */
  ignored: z.int().nonnegative(),
  /** Applications of `listed` that are not stored in this version. A reporter sends them. */
  wanted: z.array(z.object({ namespace: z.string(), name: z.string() })),
  /** The same of `objects`. Absent for none. */
  wantedObjects: z.array(z.object({ kind: z.enum(REPORTED_KINDS), namespace: z.string(), name: z.string() })).optional(),
})
export type EventsAnswer = z.infer<typeof EventsAnswer>

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** Returns the part to which an application or another object belongs, from 0. The hash is FNV-1a of 32 bits. Reporters and servers of different versions must agree on it, so it never changes. */
export function shardOf(namespace: string, name: string, shards: number): number {
  let hash = FNV_OFFSET
  for (const character of `${namespace}/${name}`) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), FNV_PRIME) >>> 0
  return hash % shards
}
