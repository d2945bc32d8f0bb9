/**
 * Agent <-> server, protocol v2. All calls carry the agent token. `epoch` fences: a second process with the same identity gets a higher
 * epoch, the older one gets 409 `agent-fenced` and exits.
 *
 * POST /v1/agent/hello   AgentHello -> AgentWelcome
 * POST /v1/agent/claim   ClaimRequest, held up to waitMs -> ClaimAnswer. Tasks come with a lease; not acknowledged in time, they come again.
 * POST /v1/agent/tasks   TaskReport -> {}: what became of tasks (idempotent by task and revision)
 * POST /v1/agent/lease   LeaseRequest -> LeaseAnswer: heartbeat of the agent and of the tasks in its hands
 * POST /v1/agent/facts   FactBatch -> FactAck: what the agent saw of pods
 */
import { z } from 'zod'
import { Hello, Id, Time } from './base.ts'
import { ReasonName } from './events.ts'

export const AgentHello = Hello.extend({
  executor: z.enum(['kubernetes', 'docker', 'fake']),
  /** Random per process: a repeated hello of the same process keeps its epoch. */
  instance: z.string().min(8).max(100),
  /** Attempts whose objects this agent still sees: those that are over get a stop task. */
  attempts: z.array(z.object({ buildId: Id, attempt: z.int().positive() })).max(5000),
  /** Runtimes whose clusters this agent knows; absent when it takes tasks of any runtime. */
  runtimes: z.array(z.string().max(200)).max(1000).optional(),
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
  /** How many more tasks fit. */
  room: z.int().min(0).max(1000),
  waitMs: z.int().min(0).max(60_000),
})
export type ClaimRequest = z.infer<typeof ClaimRequest>

/** A Kubernetes object as the server rendered it; the agent checks it against its policy before it applies it. */
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

/** What the docker and fake executors need instead of objects. */
export const EngineStart = z.object({
  /** Credential for one exchange at `/v1/engine/claim`. */
  bootstrap: z.string(),
  serverUrl: z.string(),
})

/** How to pick a disk of the pool (runner specification 5.4). */
export const DiskRequest = z.object({
  storageClassName: z.string(),
  sizeBytes: z.int().positive(),
  /** Label keys that must be equal, and those that are merely better. */
  selector: z.array(z.string()),
  sortOrder: z.array(z.string()),
  /** Labels of the claim that the selector compares. */
  labels: z.record(z.string(), z.string()),
  reset: z.boolean(),
  /** A disk that was used last by one of these builds is the best; the first of them is the build itself. */
  builds: z.array(Id).max(10).optional(),
  /** A used disk must have so much free, where that is known. */
  minimumFreeBytes: z.int().nonnegative().optional(),
})
export type DiskRequest = z.infer<typeof DiskRequest>

export const Task = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('start-attempt'),
    id: Id,
    /** Grows each time the task is handed out again; reports for an older one are ignored. */
    revision: z.int().positive(),
    buildId: Id,
    attempt: z.int().positive(),
    runtime: z.string(),
    leaseMs: z.int().positive(),
    engine: EngineStart,
    /** Secret, PersistentVolumeClaim, dind pod, engine pod, in this order; empty for other executors. */
    objects: z.array(KubeObject).max(20),
    disk: DiskRequest.optional(),
  }),
  z.object({
    kind: z.literal('stop-attempt'),
    id: Id,
    revision: z.int().positive(),
    buildId: Id,
    attempt: z.int().positive(),
    runtime: z.string(),
    leaseMs: z.int().positive(),
    /** Give the engine time to end by itself; 0 kills at once. */
    graceMs: z.int().nonnegative(),
    /** The build goes on later: its disk is kept for it alone until this time; 0 gives a disk that was kept to whoever wants it. */
    keepDiskUntil: Time.optional(),
  }),
])
export type Task = z.infer<typeof Task>
export type StartTask = Extract<Task, { kind: 'start-attempt' }>
export type StopTask = Extract<Task, { kind: 'stop-attempt' }>

export const ClaimAnswer = z.object({ tasks: z.array(Task) })

export const TaskReport = z.object({
  epoch: z.int().positive(),
  taskId: Id,
  revision: z.int().positive(),
  /** `done`: the objects exist (start) or are confirmed gone (stop). `refused`: for good. `failed`: another try may help. */
  status: z.enum(['done', 'failed', 'refused']),
  reason: ReasonName.optional(),
  message: z.string().max(8192).optional(),
})
export type TaskReport = z.infer<typeof TaskReport>

export const LeaseRequest = z.object({ epoch: z.int().positive(), tasks: z.array(Id).max(5000) })
export const LeaseAnswer = z.object({ leaseMs: z.int().positive(), lost: z.array(Id) })

/** What an agent saw of the pods of an attempt. Keyed by (agent, instance, seq): repeats are ignored. */
export const AgentFact = z.object({
  seq: z.int().positive(),
  at: Time,
  buildId: Id,
  attempt: z.int().positive(),
  /** `waiting`: not running yet, with the cluster's own words; `lost`: ended or gone without the engine having said so; `gone`: no object is left. */
  state: z.enum(['starting', 'running', 'waiting', 'lost', 'gone']),
  /** The object the fact is about. */
  object: z.string().max(300).optional(),
  reason: ReasonName.optional(),
  message: z.string().max(8192).optional(),
  /** True when waiting longer cannot help (e.g. admission denied). */
  permanent: z.boolean().optional(),
  /** Where the Docker daemon of the attempt listens, e.g. `tcp://10.244.0.7:1300`; handed on to the engine (`GET /v1/engine/docker`). */
  dockerHost: z.string().max(300).optional(),
})
export type AgentFact = z.infer<typeof AgentFact>
export const FactBatch = z.object({ epoch: z.int().positive(), instance: z.string(), facts: z.array(AgentFact).max(500) })
export type FactBatch = z.infer<typeof FactBatch>
export const FactAck = z.object({ ackSeq: z.int().nonnegative() })
