/** Disks of builds: what agents report about them, and how callers see and remove them. */
import { z } from 'zod'
import { Id, Name, PageQuery, Time } from '../base.ts'

/**
 * `in-use`: a build has it. `warm`: it is free and has data. `removing`: its removal was requested. `lost`: the node that has its data is gone.
 */
export const DISK_STATES = ['in-use', 'warm', 'removing', 'lost'] as const
export type DiskState = (typeof DISK_STATES)[number]

/** Maximum number of disks in a report of an agent. */
export const MAX_REPORTED_DISKS = 2000

const Text = z.string().max(253)

/** What an agent knows about a disk. */
export const DiskFacts = z.object({
  /** Never used again for another disk. */
  uid: z.string().min(1).max(100),
  name: Text.min(1),
  state: z.enum(DISK_STATES),
  /** Since when the disk has its state, if the disk says so. */
  since: Time.optional(),
  /** Why the disk is removed, or not removed yet. */
  message: z.string().max(1000).optional(),
  namespace: Text.optional(),
  node: Text.optional(),
  sizeBytes: z.int().nonnegative(),
  /** Free bytes when its last daemon ended. */
  freeBytes: z.int().nonnegative().optional(),
  storageClass: Text,
  /** Storage backend, such as `local` or `ebs`. */
  backend: Text.optional(),
  accessMode: Text.optional(),
  zone: Text.optional(),
  /** Runtime of the build that used it last. */
  runtime: Text.optional(),
  /** The build that uses the disk, or used it last. */
  buildId: Id.optional(),
  pipelineId: Text.optional(),
  /** Labels that a build must have to get the disk. Absent for disks of earlier versions. */
  selector: z.record(z.string().max(317), z.string().max(63)).optional(),
  /** Number of builds that used the disk. */
  uses: z.int().nonnegative(),
  createdAt: Time.optional(),
  lastUsedAt: Time.optional(),
  /** Reserved for its last build until this time. */
  keptUntil: Time.optional(),
  /** Why a new disk was made instead of using another one. */
  whyNew: z.string().max(500).optional(),
})
export type DiskFacts = z.infer<typeof DiskFacts>

/** All disks of an agent. A report replaces the previous one. */
export const DiskReport = z.object({
  epoch: z.int().positive(),
  /** Grows with each report of a process. A report with a lower number came late and is ignored. */
  seq: z.int().positive(),
  disks: z.array(DiskFacts).max(MAX_REPORTED_DISKS),
  /** Number of disks, of which `disks` has those that were used last. */
  total: z.int().nonnegative(),
  /** Runtimes whose disks could not be read. What is known of them stays. */
  failed: z.array(z.object({ runtime: z.string().max(200), message: z.string().max(1000) })).max(1000),
})
export type DiskReport = z.infer<typeof DiskReport>

export const DiskQuery = PageQuery.extend({
  runtime: Name.optional(),
  /** Name or id. */
  pipeline: z.string().max(200).optional(),
  state: z.enum(DISK_STATES).optional(),
})

export const Disk = DiskFacts.omit({ uid: true, buildId: true, pipelineId: true }).extend({
  id: Id,
  since: Time,
  agent: z.string(),
  /** When an agent last reported the disk. */
  reportedAt: Time,
  build: z.object({ id: Id, number: z.int(), pipeline: z.string().optional() }).optional(),
  /** Who may use the disk, in words. */
  usableBy: z.string().optional(),
  removal: z
    .object({
      requestedAt: Time,
      requestedBy: z.string(),
    })
    .optional(),
})
export type Disk = z.infer<typeof Disk>

/** Page of disks. */
export const DiskPage = z.object({
  items: z.array(Disk),
  next: z.string().optional(),
  /** Number of disks by state, of the runtime if the query names one. */
  counts: z.partialRecord(z.enum(DISK_STATES), z.int()),
  /** Runtimes whose disks the agent could not read, and why. */
  problems: z.array(z.object({ agent: z.string(), runtime: z.string(), message: z.string() })),
  /** Disks that are not listed because an agent reports only those used last. */
  notReported: z.int().nonnegative(),
})
export type DiskPage = z.infer<typeof DiskPage>

/**
 * Answer of `DELETE /v1/disks/{id}`. `removed`: the disk is gone. `requested`: the cluster removes it. `waiting`: the agent has not confirmed the request yet.
 */
export const DiskRemoval = z.object({
  outcome: z.enum(['removed', 'requested', 'waiting']),
  message: z.string(),
})
export type DiskRemoval = z.infer<typeof DiskRemoval>

/** Returns the used share of a disk in whole percent, such as `62 %`; undefined if it is not known. */
export function describeDiskUse({ sizeBytes, freeBytes }: Pick<Disk, 'sizeBytes' | 'freeBytes'>): string | undefined {
  // A folder of a node can have more free space than its disk was requested with.
  if (freeBytes === undefined || sizeBytes === 0 || freeBytes > sizeBytes) return undefined
  return `${Math.round((1 - freeBytes / sizeBytes) * 100)} %`
}
