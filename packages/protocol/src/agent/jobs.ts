/**
 * Jobs: work of an agent that belongs to no build. They are handed out by `POST /v1/agent/claim` to agents with the feature `jobs`, at least once, so each
 * job can be repeated. A job without a report is handed out again after its lease.
 *
 * POST /v1/agent/disks   DiskReport -> {}: the disks of the agent
 * POST /v1/agent/jobs    JobReport -> {}: results of jobs (idempotent by job and revision)
 */
import { z } from 'zod'
import { Id, Time } from '../base.ts'
import { ContextCheckResult } from '../contexts/context-checks.ts'
import { ClusterAccess, SecretStoreAccess } from '../engine/engine.ts'
import { Forge } from '../triggers/triggers.ts'

/**
 * Features of an agent (`Hello.features`) that the server needs to hand out jobs, to let it check contexts and to receive disks, and of a server that
 * receives disks.
 */
export const JOBS_FEATURE = 'jobs'
export const CONTEXT_CHECKS_FEATURE = 'context-checks'
export const DISKS_FEATURE = 'disks'

/** `warn`: builds run, but not as they should. `fail`: builds cannot run. */
export const CheckFinding = z.object({
  /** Short name of the check. */
  check: z.string().min(1).max(300),
  status: z.enum(['pass', 'warn', 'fail']),
  message: z.string().max(2000),
  /** How to fix it. */
  hint: z.string().max(2000).optional(),
})
export type CheckFinding = z.infer<typeof CheckFinding>

/** Maximum number of findings of a report. */
export const MAX_FINDINGS = 200

/** `runtime`: the finding is about one runtime of the agent. Absent: about all. */
const AgentFinding = CheckFinding.extend({ runtime: z.string().max(200).optional() })

const common = { id: Id, revision: z.int().positive() }

/** Keys of a store that pipelines name. */
const Keys = z.array(z.string().max(300)).max(100)

/** What a check connects to, with the credentials of the context. Only jobs contain it, and only agents get it. */
export const CheckedTarget = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('git'),
    url: z.string(),
    username: z.string().optional(),
    password: z.string().optional(),
    /** Absent: the agent recognizes it by its host or its answers. */
    forge: Forge.optional(),
    /** Whether the context has a private key and known hosts. The agent has no SSH client, so it does not get them. */
    hasSshKey: z.boolean(),
    hasKnownHosts: z.boolean(),
  }),
  z.object({
    type: z.literal('registry'),
    domain: z.string(),
    username: z.string().optional(),
    password: z.string().optional(),
  }),
  ClusterAccess.pick({ kubeconfig: true }).extend({ type: z.literal('kubernetes') }),
  SecretStoreAccess.pick({ url: true, token: true, mount: true, path: true, namespace: true }).extend({
    type: z.literal('secret-store'),
    /** Keys by the path of their secret. */
    keys: z.record(z.string(), Keys),
  }),
  z.object({
    type: z.literal('cluster-object'),
    kind: z.enum(['Secret', 'ConfigMap']),
    name: z.string(),
    keys: Keys,
  }),
])
export type CheckedTarget = z.infer<typeof CheckedTarget>

export const AgentJob = z.discriminatedUnion('kind', [
  z.object({
    ...common,
    kind: z.literal('remove-disk'),
    runtime: z.string(),
    /** The volume, and the id that tells it from a later one of the same name. */
    name: z.string(),
    uid: z.string(),
  }),
  z.object({
    ...common,
    kind: z.literal('check-agent'),
    /** Time of the server when it handed out the job. */
    serverTime: Time,
    /** What each runtime of the agent needs. */
    runtimes: z
      .array(
        z.object({
          name: z.string(),
          namespace: z.string().optional(),
          storageClass: z.string().optional(),
          engineUrl: z.string(),
        }),
      )
      .max(50),
  }),
  z.object({
    ...common,
    kind: z.literal('check-context'),
    /** Name of the context, for messages. */
    context: z.string(),
    runtime: z.string(),
    /** Namespace of builds of the runtime. Absent if it has no cluster. */
    namespace: z.string().optional(),
    target: CheckedTarget,
  }),
])
export type AgentJob = z.infer<typeof AgentJob>

/** Result of a job by its kind. */
export const JobResult = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('remove-disk'),
    /** `gone`: it does not exist. `requested`: it is removed when nothing holds it. `in-use`: a build has it, and nothing was changed. */
    outcome: z.enum(['gone', 'requested', 'in-use']),
    /** The build that has it. */
    buildId: Id.optional(),
    message: z.string().max(1000),
  }),
  z.object({
    kind: z.literal('check-agent'),
    findings: z.array(AgentFinding).max(MAX_FINDINGS),
  }),
  z.object({ kind: z.literal('check-context'), result: ContextCheckResult }),
])
export type JobResult = z.infer<typeof JobResult>

export const JobReport = z.object({
  epoch: z.int().positive(),
  jobId: Id,
  revision: z.int().positive(),
  /** Absent if the job failed. It is handed out again later. */
  result: JobResult.optional(),
  message: z.string().max(2000).optional(),
})
export type JobReport = z.infer<typeof JobReport>

/** The last checks of an agent. */
export const AgentChecks = z.object({
  agent: z.string(),
  /** At most one of each source. `doctor`: `windlass doctor --report`. */
  reports: z.array(
    z.object({
      source: z.enum(['agent', 'doctor']),
      at: Time,
      by: z.string(),
      findings: z.array(AgentFinding),
    }),
  ),
  /** The last request to check. Absent if there was none. */
  request: z
    .object({ state: z.enum(['running', 'done', 'failed']), at: Time, by: z.string(), message: z.string().optional() })
    .optional(),
})
export type AgentChecks = z.infer<typeof AgentChecks>

/** Findings of `windlass doctor --report`. */
export const DoctorReport = z.strictObject({ findings: z.array(AgentFinding).max(MAX_FINDINGS) })
export type DoctorReport = z.infer<typeof DoctorReport>
