/**
 * Engine <-> server. All calls except `claim` carry the attempt token. A stale attempt gets 409 `attempt-stale` and stops.
 *
 * POST /v1/engine/claim      bootstrap credential -> what to run. May be repeated with the same claimKey if the response was lost.
 * POST /v1/engine/document   EngineDocument -> EngineDocumentAnswer: for a plan whose document is in a repository. May be repeated.
 * POST /v1/engine/events     EventBatch -> EventAck
 * POST /v1/engine/logs       frame (headers x-windlass-stream|offset|sha256|at|ahead, raw body) -> { offset }: the new end of the stored stream
 * POST /v1/engine/heartbeat  Heartbeat -> HeartbeatAnswer
 * GET  /v1/engine/commands   ?after=N&waitMs=M held open -> CommandList
 * GET  /v1/oidc/token         ?audience=A -> IdToken
 * GET  /v1/engine/git        ?context=NAME -> GitAccess: for a context whose password the server renews
 * GET  /v1/engine/docker     ?waitMs=M held open -> DockerAddress: for an engine without DOCKER_HOST
 */
import { z } from 'zod'
import type { Plan, Snapshot } from '@windlass/plan'
import { DEBUG_PHASES, MAX_EVENTS, Resumption, StreamName } from './events.ts'
import { AnyTakenEvent } from './take-event.ts'
import { Hello, Id, Time } from '../base.ts'

export const EngineClaim = Hello.extend({ claimKey: z.string().min(16).max(100) })
export type EngineClaim = z.infer<typeof EngineClaim>

/** The engine of a warm pair polls this before it claims, until a build is assigned. `attempt-stale` tells the pair to stop. */
export const EngineWait = z.object({ waitMs: z.int().min(0).max(60_000) })
export const EngineWaited = z.object({ assigned: z.boolean() })

/** Address and credentials of a git host, from the context of this name. The engine keeps them in memory only. */
export const GitAccess = z.object({
  context: z.string(),
  isDefault: z.boolean(),
  /** Base URL that `owner/name` is appended to, e.g. `https://git.example.com`. */
  url: z.string(),
  username: z.string().optional(),
  password: z.string().optional(),
  sshPrivateKey: z.string().optional(),
  sshKnownHosts: z.string().optional(),
  /** When `password` expires. Set if the server renews it: the engine requests it again before each use. */
  expiresAt: Time.optional(),
})
export type GitAccess = z.infer<typeof GitAccess>

export const RegistryAccess = z.object({
  context: z.string(),
  isDefault: z.boolean(),
  /** Host with optional port, e.g. `registry.example.com:5000`. */
  domain: z.string(),
  /** Used for pulls if several registries have the same domain. Otherwise the default one is used, then the first. */
  isPrimary: z.boolean().optional(),
  /** Inserted between domain and image name. */
  repositoryPrefix: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
})
export type RegistryAccess = z.infer<typeof RegistryAccess>

export const EngineLimits = z.object({
  /** Maximum log bytes of one step and of the whole attempt. Further output is dropped, with a marker. */
  stepLogBytes: z.int().positive(),
  buildLogBytes: z.int().positive(),
  heartbeatMs: z.int().positive(),
  /** Time between TERM and KILL when a step is stopped. */
  stopGraceMs: z.int().nonnegative(),
})
export type EngineLimits = z.infer<typeof EngineLimits>

/** Actions on a held step. */
export const DEBUG_ACTIONS = ['continue', 'retry', 'fail', 'extend'] as const
export type DebugAction = (typeof DEBUG_ACTIONS)[number]

/** Size of a terminal, and the single command that runs in it. Without a command it runs a shell. */
export const TerminalShape = z.object({
  columns: z.int().min(1).max(1000),
  rows: z.int().min(1).max(1000),
  command: z.string().min(1).max(65_536).optional(),
  /** `TERM` of the user's terminal. */
  kind: z
    .string()
    .regex(/^[\w.+-]{1,60}$/)
    .optional(),
})
export type TerminalShape = z.infer<typeof TerminalShape>

export const DebugSettings = z.object({
  /** Step -> phases at which it is held, in addition to the breakpoints of the plan. */
  steps: z.record(z.string().max(150), z.array(z.enum(DEBUG_PHASES)).max(4)),
  /** Hold every step that fails. */
  onFailure: z.boolean(),
  /**
   * Time limit of a held step. Each key press in a terminal restarts it. Default: `DEBUGGER_TIMEOUT` of the runtime (minutes), otherwise
   * 15 minutes.
   */
  timeoutMs: z.int().positive().max(86_400_000).optional(),
  /** What happens at the time limit: `stop` (default) ends the build with `debug-timeout`, `continue` continues the step. */
  onTimeout: z.enum(['stop', 'continue']).optional(),
})
export type DebugSettings = z.infer<typeof DebugSettings>

/** Access to a Kubernetes cluster: name of the integration, and a kubeconfig as JSON with one context of the same name. */
export const ClusterAccess = z.object({
  context: z.string(),
  kubeconfig: z.string(),
  /** False: deploy steps may use it, but it is not in the kubeconfig of steps. Default: true. */
  injected: z.boolean().optional(),
})
export type ClusterAccess = z.infer<typeof ClusterAccess>

/** A secret store with the HTTP API of the Vault KV engine, version 2, and the token to read it. */
export const SecretStoreAccess = z.object({
  context: z.string(),
  url: z.string(),
  token: z.string(),
  /** Mount path of the KV engine, e.g. `secret`. */
  mount: z.string(),
  /** Secret to read. If absent, references name it: `${{secrets.STORE.RESOURCE@KEY}}`. */
  path: z.string().optional(),
  namespace: z.string().optional(),
  /** For a store in the cluster that builds run in: folder in the engine container with one file per key. No API is called. */
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

/** What the engine runs. Plan and Snapshot are produced by our own code, so only their version is validated. */
export const EngineClaimed = z.object({
  buildId: Id,
  attempt: z.int().positive(),
  /** Attempt token for all further calls. */
  token: z.string(),
  plan: z.custom<Plan>(
    (value) => typeof value === 'object' && value !== null && 'planVersion' in value && value.planVersion === 1,
  ),
  snapshot: z.custom<Snapshot>((value) => typeof value === 'object' && value !== null && 'steps' in value),
  /** Secret variables by their name in the plan. */
  secrets: z.record(z.string(), z.string()),
  /** `CF_API_KEY` of steps. Allows reading and starting builds while this build runs. */
  buildToken: z.string().optional(),
  git: z.array(GitAccess),
  registries: z.array(RegistryAccess),
  limits: EngineLimits,
  /** True if steps may use the socket of the Docker daemon. */
  userAccess: z.boolean(),
  resetVolume: z.boolean(),
  noCache: z.boolean(),
  /** Name of the Docker volume that all steps share. */
  volumeName: z.string(),
  /** False if the volume belongs only to this build and is deleted when it ends. Default: true. */
  keepVolume: z.boolean().optional(),
  /** Set for attempts after the first. */
  resume: Resumption.optional(),
  /** Run only these steps. */
  only: z.array(z.string()).optional(),
  /** Do not run these steps. */
  skip: z.array(z.string()).optional(),
  noCfCache: z.boolean().optional(),
  /** External secret stores that the engine reads: `${{secrets.STORE.KEY}}`. */
  secretStores: z.array(SecretStoreAccess).optional(),
  /** Set in debug runs. `steps` adds to the breakpoints of the plan. */
  debug: DebugSettings.optional(),
  clusters: z.array(ClusterAccess).optional(),
  /** Files that are written to the shared volume before the first step: relative path -> text (`event.json`). Not kept for the next build. */
  files: z.record(z.string(), z.string()).optional(),
  /** Images, besides our own, that may register QEMU or act as a builder. Absent: any image, for the user's own Docker daemon. */
  trustedQemuImages: z.array(z.string()).optional(),
  /** Whether a build step without push settings pushes to the default registry. Absent: it pushes if there is a default registry. */
  autoPush: z.boolean().optional(),
  /** Client certificate and CA for the Docker daemon (PEM), if the engine pod has no certificates. */
  docker: z.object({ ca: z.string(), cert: z.string(), key: z.string() }).optional(),
  /** Paths in the daemon container that are mounted at the same path in every step (`userVolumeMounts` of the runtime). */
  userMounts: z.array(z.object({ path: z.string(), readOnly: z.boolean() })).optional(),
  /** Images of earlier builds of the pipeline by content hash, newest first. */
  knownImages: z.array(KnownImage).optional(),
  /** The account and the pipeline of the build, for metrics. Earlier versions omit them. */
  belongsTo: z
    .object({ accountId: z.string(), account: z.string(), pipelineId: z.string().optional(), pipeline: z.string().optional() })
    .optional(),
})
export type EngineClaimed = z.infer<typeof EngineClaimed>

/** A document that the engine fetched for a plan with a `source`. */
export const EngineDocument = z.object({ text: z.string().max(1_048_576) })

/** The compiled plan, or an error message with which the attempt ends as `invalid-pipeline`. */
export const EngineDocumentAnswer = z.object({ plan: EngineClaimed.shape.plan.optional(), message: z.string().optional() })
export type EngineDocumentAnswer = z.infer<typeof EngineDocumentAnswer>

export const EventBatch = z.object({ events: z.array(AnyTakenEvent).max(MAX_EVENTS) })
export type EventBatch = z.infer<typeof EventBatch>

/** All events up to `ackSeq` are stored. The engine continues after it. */
export const EventAck = z.object({ ackSeq: z.int().nonnegative() })
/**
 * `flushMs`: how long the engine may buffer a small amount of output. It is shorter while a client follows the build. `inFlight`: the number of frames
 * that the engine may send before the answer to the first of them. Absent, as from older servers: 1.
 */
export const FrameAck = z.object({
  offset: z.int().nonnegative(),
  flushMs: z.int().positive().optional(),
  inFlight: z.int().positive().optional(),
})

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
  /** Passes on the decision of an approval. */
  z.object({
    id: z.int().positive(),
    type: z.literal('decide'),
    step: z.string(),
    decision: z.enum(['approved', 'denied', 'terminated']),
    by: z.object({ name: z.string(), type: z.string() }),
    at: Time,
  }),
  /** Sets or clears the breakpoints of a running build. */
  z.object({ id: z.int().positive(), type: z.literal('debug'), settings: DebugSettings.optional(), at: Time }),
  /** Action of the user on a held step. `extend` restarts its time limit. */
  z.object({
    id: z.int().positive(),
    type: z.literal('debug-continue'),
    step: z.string(),
    action: z.enum(DEBUG_ACTIONS),
    at: Time,
  }),
  /** Opens a terminal. The engine connects to `/v1/engine/terminals/{terminal}`. */
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

/** Address of the Docker daemon of this attempt. `host` is absent until the agent reports it; then the engine asks again. */
export const DockerAddress = z.object({ host: z.string().max(300).optional() })
export type DockerAddress = z.infer<typeof DockerAddress>

/** Maximum number of streams in a heartbeat. */
export const MAX_SPOOLED = 1000

/** Renews the lease. Fields that are not valid are ignored, so that a heartbeat is never refused. */
export const Heartbeat = z.object({
  /**
   * Stream -> bytes that the engine wrote to its spool, for streams that are not fully acknowledged. If the engine is lost, the feed shows how many
   * bytes are known to be missing. Contains at most `MAX_SPOOLED` streams, those with the most unacknowledged bytes.
   */
  spooled: z.record(StreamName, z.int().nonnegative()).optional().catch(undefined),
  /** Number of further streams with unacknowledged bytes. */
  others: z.int().nonnegative().optional().catch(undefined),
})
export type Heartbeat = z.infer<typeof Heartbeat>

export const HeartbeatAnswer = z.object({ leaseMs: z.int().positive() })

/** The audience is the service that will accept the token. Default: the server. */
export const IdTokenQuery = z.object({ audience: z.string().min(1).max(500).optional() })
/** An ID token of the build of the caller: a JSON Web Token. The name of the field is that of Codefresh. */
export const IdToken = z.object({ id_token: z.string() })
