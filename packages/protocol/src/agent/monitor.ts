/**
 * Monitor <-> server: the objects of a cluster, for display. All calls carry an agent token, which allows only reports here. The monitor sends
 * summaries of objects: environment variables, data and Secrets never leave the cluster.
 *
 * POST /v1/monitor/hello    MonitorHello -> MonitorWelcome: a new process starts a new generation
 * POST /v1/monitor/objects  ObjectBatch -> ObjectAck: idempotent by (cluster, generation, seq)
 */
import { z } from 'zod'
import { Id, Name, Time } from '../base.ts'
import { MONITORED_KINDS } from './monitored-kinds.ts'

export { MONITORED_KINDS }
export const MonitoredKind = z.enum(MONITORED_KINDS)
export type MonitoredKind = z.infer<typeof MonitoredKind>

export const MonitorHello = z.object({
  cluster: Name,
  /** Random per process. */
  generation: z.string().min(8).max(100),
  version: z.string().max(50),
  /** Version of the cluster's API server. */
  clusterVersion: z.string().max(50).optional(),
  /** Namespaces that the monitor watches. Absent: the whole cluster. */
  namespaces: z.array(z.string().max(63)).max(1000).optional(),
})
export type MonitorHello = z.infer<typeof MonitorHello>

/** Maximum number of changes in one batch. */
export const OBJECT_BATCH = 200
export const MonitorWelcome = z.object({ batch: z.int().positive() })
export type MonitorWelcome = z.infer<typeof MonitorWelcome>

/** Fields of an object that lists show: strings, numbers and booleans. */
export const ObjectSummary = z.record(z.string().max(100), z.union([z.string().max(2000), z.number(), z.boolean()]))
export type ObjectSummary = z.infer<typeof ObjectSummary>

const ObjectKey = {
  kind: MonitoredKind,
  /** Empty for cluster-scoped objects. */
  namespace: z.string().max(63),
  name: z.string().min(1).max(253),
}

export const ObjectChange = z.discriminatedUnion('change', [
  z.object({
    change: z.literal('set'),
    ...ObjectKey,
    uid: z.string().max(100),
    labels: z.record(z.string().max(317), z.string().max(63)),
    summary: ObjectSummary,
    createdAt: Time.optional(),
  }),
  z.object({ change: z.literal('gone'), ...ObjectKey }),
  /** All objects of this kind were reported in this generation. The server deletes the others. */
  z.object({ change: z.literal('synced'), kind: MonitoredKind }),
])
export type ObjectChange = z.infer<typeof ObjectChange>

export const ObjectBatch = z.object({
  cluster: Name,
  generation: z.string().min(8).max(100),
  /** Increases by one with each batch of a generation. A repeated batch is acknowledged but not applied again. */
  seq: z.int().positive(),
  changes: z.array(ObjectChange).max(OBJECT_BATCH),
})
export type ObjectBatch = z.infer<typeof ObjectBatch>
export const ObjectAck = z.object({ seq: z.int().nonnegative() })

/** A monitor in `/v1`. */
export const Monitor = z.object({
  cluster: Name,
  agentId: Id,
  version: z.string(),
  clusterVersion: z.string().optional(),
  namespaces: z.array(z.string()).optional(),
  status: z.enum(['online', 'offline']),
  objects: z.int().nonnegative(),
  seenAt: Time,
})
export type Monitor = z.infer<typeof Monitor>

export const ClusterObject = z.object({
  ...ObjectKey,
  uid: z.string(),
  labels: z.record(z.string(), z.string()),
  summary: ObjectSummary,
  createdAt: Time.optional(),
  /** Time of the last report about the object. */
  seenAt: Time,
})
export type ClusterObject = z.infer<typeof ClusterObject>
