/**
 * Agent <-> server, protocol v2. All calls carry the agent token. `epoch` is the fencing token: a second process with the same identity gets a
 * higher epoch, and the older process gets 409 `agent-fenced` and exits.
 *
 * POST /v1/agent/hello   AgentHello -> AgentWelcome
 * POST /v1/agent/claim   ClaimRequest, held up to waitMs -> ClaimAnswer. Tasks have a lease and are handed out again if it expires.
 * POST /v1/agent/tasks   TaskReport -> {}: results of tasks (idempotent by task and revision)
 * POST /v1/agent/lease   LeaseRequest -> LeaseAnswer: heartbeat of the agent and of its tasks
 * POST /v1/agent/facts   FactBatch -> FactAck: observations about pods
 */
import { z } from 'zod'
import { Hello, Id, Time } from '../base.ts'
import { ReasonName } from '../engine/events.ts'
import { AgentJob } from './jobs.ts'

const AttemptKey = z.object({ buildId: Id, attempt: z.int().positive() })

export const AgentHello = Hello.extend({
  executor: z.enum(['kubernetes', 'docker', 'fake']),
  /** Random per process. A repeated hello of the same process keeps its epoch. */
  instance: z.string().min(8).max(100),
  /** Attempts whose objects still exist. The server creates a stop task for those that have ended. */
  attempts: z.array(AttemptKey).max(5000),
  /** Runtimes whose clusters this agent is configured for. Absent: the agent accepts tasks of any runtime. */
  runtimes: z.array(z.string().max(200)).max(1000).optional(),
  /**
   * Base URL at which engines of this agent reach the server. Absent if the agent does not report it. The server ignores a value that is not a
   * base URL.
   */
  serverUrl: z.string().optional(),
})
export type AgentHello = z.infer<typeof AgentHello>

export const AgentWelcome = z.object({
  agentId: Id,
  name: z.string(),
  epoch: z.int().positive(),
  leaseMs: z.int().positive(),
  runtimes: z.array(z.string()),
  server: Hello,
})
export type AgentWelcome = z.infer<typeof AgentWelcome>

export const ClaimRequest = z.object({
  epoch: z.int().positive(),
  /** Number of further tasks that the agent can accept. */
  room: z.int().min(0).max(1000),
  waitMs: z.int().min(0).max(60_000),
})
export type ClaimRequest = z.infer<typeof ClaimRequest>

/** A Kubernetes object rendered by the server. The agent checks it against its policy before it applies it. */
export const KubeObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
})
export type KubeObject = z.infer<typeof KubeObject>

/** What the docker and fake executors need instead of Kubernetes objects. */
export const EngineStart = z.object({
  /** Credential for one exchange at `/v1/engine/claim`. */
  bootstrap: z.string(),
  serverUrl: z.string(),
})

/** How to choose a disk of the pool. */
export const DiskRequest = z.object({
  storageClassName: z.string(),
  sizeBytes: z.int().positive(),
  /** Label keys that must be equal. */
  selector: z.array(z.string()),
  /** Label keys that are preferred to be equal. */
  sortOrder: z.array(z.string()),
  /** Labels of the claim, which the selector compares. */
  labels: z.record(z.string(), z.string()),
  reset: z.boolean(),
  /** A disk that was last used by one of these builds is preferred. The first one is the build itself. */
  builds: z.array(Id).max(10).optional(),
  /** Free space that a used disk must have, if its free space is known. */
  minimumFreeBytes: z.int().nonnegative().optional(),
})
export type DiskRequest = z.infer<typeof DiskRequest>

export const Task = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('start-attempt'),
    id: Id,
    /** Increases each time the task is handed out again. Reports for an older revision are ignored. */
    revision: z.int().positive(),
    buildId: Id,
    attempt: z.int().positive(),
    runtime: z.string(),
    leaseMs: z.int().positive(),
    engine: EngineStart,
    /** Secret, PersistentVolumeClaim, dind pod, engine pod, in this order; empty for other executors. */
    objects: z.array(KubeObject).max(20),
    disk: DiskRequest.optional(),
    /** True for a warm pair. The agent starts builds first. */
    warm: z.boolean().optional(),
    /** How many attempts of the runtime start at once. Default: the settings of the agent. */
    starts: z.object({ perCore: z.number().positive().optional(), max: z.int().positive().optional() }).optional(),
  }),
  z.object({
    kind: z.literal('stop-attempt'),
    id: Id,
    revision: z.int().positive(),
    buildId: Id,
    attempt: z.int().positive(),
    runtime: z.string(),
    leaseMs: z.int().positive(),
    /** Time for the engine to stop by itself; 0 kills it immediately. Milliseconds. */
    graceMs: z.int().nonnegative(),
    /** The build continues later, so its disk is reserved for it until this time. 0 releases a reserved disk. */
    keepDiskUntil: Time.optional(),
  }),
])
export type Task = z.infer<typeof Task>
export type StartTask = Extract<Task, { kind: 'start-attempt' }>
export type StopTask = Extract<Task, { kind: 'stop-attempt' }>

/** `jobs`: only for agents with the feature `jobs`. */
export const ClaimAnswer = z.object({ tasks: z.array(Task), jobs: z.array(AgentJob).optional() })

export const TaskReport = z.object({
  epoch: z.int().positive(),
  taskId: Id,
  revision: z.int().positive(),
  /** `done`: the objects exist (start) or are confirmed deleted (stop). `refused`: permanent. `failed`: a retry may succeed. */
  status: z.enum(['done', 'failed', 'refused']),
  reason: ReasonName.optional(),
  message: z.string().max(8192).optional(),
})
export type TaskReport = z.infer<typeof TaskReport>

export const LeaseRequest = z.object({ epoch: z.int().positive(), tasks: z.array(Id).max(5000) })
export const LeaseAnswer = z.object({
  leaseMs: z.int().positive(),
  lost: z.array(Id),
  /** Attempts whose engine runs but has not called the server. The agent reports the end of the pod log as a fact `waiting`, `engine-silent`. */
  silent: z
    .array(AttemptKey.extend({ runtime: z.string() }))
    .max(100)
    .optional(),
})

/** An observation about the pods of an attempt. Keyed by (agent, instance, seq): repeats are ignored. */
export const AgentFact = z.object({
  seq: z.int().positive(),
  at: Time,
  buildId: Id,
  attempt: z.int().positive(),
  /**
   * `waiting`: not running yet, with the message of Kubernetes; `lost`: ended or deleted without a report of the engine; `gone`: no object of
   * the attempt is left.
   */
  state: z.enum(['starting', 'running', 'waiting', 'lost', 'gone']),
  /** Name of the object. */
  object: z.string().max(300).optional(),
  reason: ReasonName.optional(),
  message: z.string().max(8192).optional(),
  /** True if waiting longer cannot help (for example, admission denied). */
  permanent: z.boolean().optional(),
  /** Address of the Docker daemon of the attempt, e.g. `tcp://10.244.0.7:1300`. The server passes it to the engine (`GET /v1/engine/docker`). */
  dockerHost: z.string().max(300).optional(),
  /**
   * With `lost`: the engine can still send its spool and end the attempt, because its container restarts, has not ended yet, or is not the one
   * that was lost. The server ends the attempt when the engine has reported, or has sent nothing for the duration of a lease.
   */
  engineMayReport: z.boolean().optional(),
})
export type AgentFact = z.infer<typeof AgentFact>
export const FactBatch = z.object({ epoch: z.int().positive(), instance: z.string(), facts: z.array(AgentFact).max(500) })
export type FactBatch = z.infer<typeof FactBatch>
export const FactAck = z.object({ ackSeq: z.int().nonnegative() })
