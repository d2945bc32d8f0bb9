/**
 * Engine <-> server. All calls but `claim` carry the attempt token; a stale attempt gets 409 `attempt-stale` and stops.
 *
 * POST /v1/engine/claim      bootstrap credential -> what to run. Repeating it with the same claimKey is harmless (a lost answer).
 * POST /v1/engine/document   EngineDocument -> EngineDocumentAnswer: of a plan whose steps stand in a repository; repeating it is harmless
 * POST /v1/engine/events     EventBatch -> EventAck
 * POST /v1/engine/logs       frame (headers x-windlass-stream|offset|sha256|at, raw body) -> { offset }: where the stored stream ends now
 * POST /v1/engine/heartbeat  {} -> Heartbeat answer
 * GET  /v1/engine/commands   ?after=N&waitMs=M held open -> CommandList
 * GET  /v1/engine/docker     ?waitMs=M held open -> DockerAddress: asked by an engine whose DOCKER_HOST is not set
 */
import { z } from 'zod'
import type { Plan, Snapshot } from '@windlass/plan'
import { DEBUG_PHASES, EngineEvent, MAX_EVENTS, Resumption } from './events.ts'
import { Hello, Id, Time } from './base.ts'

export const EngineClaim = Hello.extend({ claimKey: z.string().min(16).max(100) })
export type EngineClaim = z.infer<typeof EngineClaim>

/** The engine of a warm pair asks before it claims, until it is given a build; `attempt-stale` when the pair is to go. */
export const EngineWait = z.object({ waitMs: z.int().min(0).max(60_000) })
export const EngineWaited = z.object({ assigned: z.boolean() })

/** Credentials of a git host: name of the context -> how to reach and log in. Values live only in the engine's memory. */
export const GitAccess = z.object({
  context: z.string(),
  isDefault: z.boolean(),
  /** Base URL that `owner/name` is appended to, e.g. `https://git.example.com`. */
  url: z.string(),
  username: z.string().optional(),
  password: z.string().optional(),
  sshPrivateKey: z.string().optional(),
  sshKnownHosts: z.string().optional(),
})
export type GitAccess = z.infer<typeof GitAccess>

export const RegistryAccess = z.object({
  context: z.string(),
  isDefault: z.boolean(),
  /** Host with optional port, e.g. `registry.example.com:5000`. */
  domain: z.string(),
  /** Taken for pulls where several have the same domain; else the default one, else the first. */
  isPrimary: z.boolean().optional(),
  /** Put between domain and image name when set. */
  repositoryPrefix: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
})
export type RegistryAccess = z.infer<typeof RegistryAccess>

export const EngineLimits = z.object({
  /** Most log bytes of one step and of the whole attempt; output beyond is dropped with a marker. */
  stepLogBytes: z.int().positive(),
  buildLogBytes: z.int().positive(),
  heartbeatMs: z.int().positive(),
  /** Between TERM and KILL when a step is stopped. */
  stopGraceMs: z.int().nonnegative(),
})
export type EngineLimits = z.infer<typeof EngineLimits>

/** What can be asked of a held step. */
export const DEBUG_ACTIONS = ['continue', 'retry', 'fail', 'extend'] as const
export type DebugAction = (typeof DEBUG_ACTIONS)[number]

/** How a terminal looks, and what runs in it: a shell, or one command and then nothing. */
export const TerminalShape = z.object({
  columns: z.int().min(1).max(1000),
  rows: z.int().min(1).max(1000),
  command: z.string().min(1).max(65_536).optional(),
  /** `TERM` of the person's own terminal. */
  kind: z
    .string()
    .regex(/^[\w.+-]{1,60}$/)
    .optional(),
})
export type TerminalShape = z.infer<typeof TerminalShape>

export const DebugSettings = z.object({
  /** Step -> where it is held, beside the breakpoints of the plan. */
  steps: z.record(z.string().max(150), z.array(z.enum(DEBUG_PHASES)).max(4)),
  /** Hold every step that fails. */
  onFailure: z.boolean(),
  /**
   * Longest a breakpoint holds a step that nobody attends to. Each key press in a terminal begins it anew. The runtime decides when absent
   * (`DEBUGGER_TIMEOUT`, minutes), else 15 minutes.
   */
  timeoutMs: z.int().positive().max(86_400_000).optional(),
  /** What happens then: the whole build stops with `debug-timeout` (when absent), or the step goes on. */
  onTimeout: z.enum(['stop', 'continue']).optional(),
})
export type DebugSettings = z.infer<typeof DebugSettings>

/** A Kubernetes cluster: name of the integration -> kubeconfig (as JSON, with one context, named like the integration). */
export const ClusterAccess = z.object({
  context: z.string(),
  kubeconfig: z.string(),
  /** False: deploy steps may name it, but it is not in the kubeconfig that steps find. True when absent. */
  injected: z.boolean().optional(),
})
export type ClusterAccess = z.infer<typeof ClusterAccess>

/** A store of secrets that speaks the HTTP API of Vault's KV engine, version 2, with the token to read it. */
export const SecretStoreAccess = z.object({
  context: z.string(),
  url: z.string(),
  token: z.string(),
  /** Where the engine is mounted, e.g. `secret`. */
  mount: z.string(),
  /** The secret to read; without it references name one: `${{secrets.STORE.RESOURCE@KEY}}`. */
  path: z.string().optional(),
  namespace: z.string().optional(),
  /** A store of the cluster that builds run in: folder of the engine's container with a file for each key; nothing is called. */
  folder: z.string().optional(),
})
export type SecretStoreAccess = z.infer<typeof SecretStoreAccess>

export const KnownImage = z.object({
  step: z.string(),
  contentHash: z.string(),
  imageId: z.string(),
  name: z.string(),
  tags: z.array(z.string()),
  digest: z.string().optional(),
})
export type KnownImage = z.infer<typeof KnownImage>

/** Plan and Snapshot are made by our own code on both sides and are checked by their version only. */
export const EngineClaimed = z.object({
  buildId: Id,
  attempt: z.int().positive(),
  /** Attempt token for all further calls. */
  token: z.string(),
  plan: z.custom<Plan>(
    (value) => typeof value === 'object' && value !== null && 'planVersion' in value && value.planVersion === 1,
  ),
  snapshot: z.custom<Snapshot>((value) => typeof value === 'object' && value !== null && 'steps' in value),
  /** Secret variables by the name that the plan uses. */
  secrets: z.record(z.string(), z.string()),
  /** What steps find as CF_API_KEY: may read and start builds while this one lives. */
  buildToken: z.string().optional(),
  git: z.array(GitAccess),
  registries: z.array(RegistryAccess),
  limits: EngineLimits,
  /** Steps may use the daemon's socket. */
  userAccess: z.boolean(),
  resetVolume: z.boolean(),
  noCache: z.boolean(),
  /** Name of the docker volume that all steps share. */
  volumeName: z.string(),
  /** False when the volume is of this build alone and goes when the build ends; it stays when absent. */
  keepVolume: z.boolean().optional(),
  /** Of attempts after the first. */
  resume: Resumption.optional(),
  /** Run these steps alone; leave these out. */
  only: z.array(z.string()).optional(),
  skip: z.array(z.string()).optional(),
  noCfCache: z.boolean().optional(),
  /** Where secrets of stores outside are read, by the engine itself: `${{secrets.STORE.KEY}}`. */
  secretStores: z.array(SecretStoreAccess).optional(),
  /** Set in debug runs. `steps` adds to the breakpoints of the plan. */
  debug: DebugSettings.optional(),
  clusters: z.array(ClusterAccess).optional(),
  /** Files put on the shared volume before the first step: path below it -> text (`event.json`). Not kept for the next build. */
  files: z.record(z.string(), z.string()).optional(),
  /** Images that may register QEMU; any when absent. */
  trustedQemuImages: z.array(z.string()).optional(),
  /** What a build step does that says nothing: push to the default registry, or not at all. Absent: push where there is a default one. */
  autoPush: z.boolean().optional(),
  /** How the engine proves itself to the Docker daemon and knows it (PEM), where its pod has no certificates of its own. */
  docker: z.object({ ca: z.string(), cert: z.string(), key: z.string() }).optional(),
  /** Paths in the daemon's container that every step finds at the same place (`userVolumeMounts` of the runtime). */
  userMounts: z.array(z.object({ path: z.string(), readOnly: z.boolean() })).optional(),
  /** Images of earlier builds of the pipeline by content hash, newest first. */
  knownImages: z.array(KnownImage).optional(),
})
export type EngineClaimed = z.infer<typeof EngineClaimed>

/** A document that the engine fetched for a plan with a `source`. */
export const EngineDocument = z.object({ text: z.string().max(1_048_576) })

/** The plan of the document, or what is wrong with it: then the attempt ends as `invalid-pipeline`. */
export const EngineDocumentAnswer = z.object({ plan: EngineClaimed.shape.plan.optional(), message: z.string().optional() })
export type EngineDocumentAnswer = z.infer<typeof EngineDocumentAnswer>

export const EventBatch = z.object({ events: z.array(EngineEvent).max(MAX_EVENTS) })
export type EventBatch = z.infer<typeof EventBatch>

/** All events up to `ackSeq` are stored; send on from there. */
export const EventAck = z.object({ ackSeq: z.int().nonnegative() })
export const FrameAck = z.object({ offset: z.int().nonnegative() })

export const TERMINATE_REASONS = [
  'cancelled',
  'superseded',
  'inactive',
  'too-long',
  'parent-terminated',
  'debug-timeout',
] as const

export const Command = z.discriminatedUnion('type', [
  z.object({ id: z.int().positive(), type: z.literal('terminate'), reason: z.enum(TERMINATE_REASONS), at: Time }),
  /** An approval was decided. */
  z.object({
    id: z.int().positive(),
    type: z.literal('decide'),
    step: z.string(),
    decision: z.enum(['approved', 'denied', 'terminated']),
    by: z.object({ name: z.string(), type: z.string() }),
    at: Time,
  }),
  /** Sets breakpoints of a running build, or takes them away. */
  z.object({ id: z.int().positive(), type: z.literal('debug'), settings: DebugSettings.optional(), at: Time }),
  /** What the person at the debugger wants of a held step; `extend` begins its time limit anew. */
  z.object({
    id: z.int().positive(),
    type: z.literal('debug-continue'),
    step: z.string(),
    action: z.enum(DEBUG_ACTIONS),
    at: Time,
  }),
  /** A terminal was asked for: the engine dials `/v1/engine/terminals/{terminal}`. */
  z.object({
    id: z.int().positive(),
    type: z.literal('terminal'),
    terminal: Id,
    step: z.string(),
    ...TerminalShape.shape,
    at: Time,
  }),
])
export type Command = z.infer<typeof Command>
export const CommandList = z.object({ commands: z.array(Command) })

/** Where the Docker daemon of this attempt listens, once its agent has seen it; without `host` ask again. */
export const DockerAddress = z.object({ host: z.string().max(300).optional() })
export type DockerAddress = z.infer<typeof DockerAddress>

export const HeartbeatAnswer = z.object({ leaseMs: z.int().positive() })
