/**
 * Events: numbered facts about a build. Key: (build, attempt, source, sequence); sending one twice is normal.
 * Engine events flow engine -> server; agent facts flow agent -> server (agent.ts); server events are written by the server itself.
 */
import { z } from 'zod'
import { ANNOTATED_ENTITIES, FINAL_BUILD_STATUSES, FINAL_STEP_STATUSES, REASON_NAMES, RESUME_CAUSES } from '@windlass/plan'
import { Time } from './base.ts'

export const ReasonName = z.enum(REASON_NAMES)
const StepName = z.string().min(1).max(150)
const Message = z.string().max(8192)

export const ExportedVariable = z.object({
  name: z.string().min(1).max(200),
  value: z.string().max(1_048_576),
  secret: z.boolean(),
})

/**
 * How an attempt ended, in the words of the engine. The server decides the build's state from it with the functions of `plan`.
 * `pending-approval`: nothing runs and a step waits for a person; another attempt goes on once it is decided.
 */
export const AttemptOutcome = z.object({
  status: z.enum([...FINAL_BUILD_STATUSES, 'pending-approval']),
  reason: ReasonName.optional(),
  message: Message.optional(),
  /** The step to blame. */
  step: StepName.optional(),
})
export type AttemptOutcome = z.infer<typeof AttemptOutcome>

/** Why an attempt goes on where another one ended; a loss of infrastructure when nothing is said. */
export const Resumption = z.object({
  cause: z.enum(RESUME_CAUSES),
  /** Of a restart: the step to run again. */
  from: StepName.optional(),
})
export type Resumption = z.infer<typeof Resumption>

/** Where a debugger can hold a step. */
export const DEBUG_PHASES = ['before', 'override', 'after', 'failure'] as const
export type DebugPhase = (typeof DEBUG_PHASES)[number]

/** Peaks so far, sampled once a second. Times in milliseconds, sizes in bytes. */
export const Usage = z.object({
  memoryPeakBytes: z.int().nonnegative().optional(),
  memoryLimitBytes: z.int().nonnegative().optional(),
  cpuMs: z.int().nonnegative().optional(),
  readBytes: z.int().nonnegative().optional(),
  writtenBytes: z.int().nonnegative().optional(),
})
export type Usage = z.infer<typeof Usage>

const common = { seq: z.int().positive(), at: Time }

export const EngineEvent = z.discriminatedUnion('type', [
  z.object({
    ...common,
    type: z.literal('attempt.started'),
    engineVersion: z.string().max(50),
    docker: z.object({ version: z.string().max(100), api: z.string().max(20) }),
    /** False when the shared volume of this build was not found on the disk; what runs again then, `resume` of `plan` says. */
    volumeKept: z.boolean(),
    resume: Resumption.optional(),
  }),
  z.object({
    ...common,
    type: z.literal('step.started'),
    step: StepName,
    try: z.int().positive(),
    resets: z.array(StepName).max(5000).optional(),
  }),
  z.object({
    ...common,
    type: z.literal('step.waiting'),
    step: StepName,
    reason: ReasonName,
    /** With `debugger`: where it stopped. */
    phase: z.enum(DEBUG_PHASES).optional(),
  }),
  /** Passed on by an engine that was told of the decision; a server writes it itself when no attempt is live. */
  z.object({
    ...common,
    type: z.literal('step.decided'),
    step: StepName,
    decision: z.enum(['approved', 'denied', 'terminated']),
    by: z.object({ name: z.string().max(200), type: z.string().max(50) }),
  }),
  z.object({
    ...common,
    type: z.literal('step.finished'),
    step: StepName,
    try: z.int().nonnegative(),
    status: z.enum(FINAL_STEP_STATUSES),
    reason: ReasonName.optional(),
    message: Message.optional(),
    hint: Message.optional(),
    exitCode: z.int().optional(),
    members: z.record(z.string().max(200), z.string().max(65_536)),
    exports: z.array(ExportedVariable).max(1000),
    outputs: z.record(z.string().max(200), z.string().max(1_048_576)).optional(),
    /** Peaks over the containers of the step. */
    usage: Usage.optional(),
  }),
  /** What a running step uses, told now and then. */
  z.object({ ...common, type: z.literal('step.usage'), step: StepName, usage: Usage }),
  /** Annotations or image metadata to write. Without `id`: this build, its pipeline or its project. */
  z.object({
    ...common,
    type: z.literal('annotated'),
    step: StepName,
    entity: z.enum(ANNOTATED_ENTITIES),
    id: z.string().max(500).optional(),
    kind: z.enum(['annotation', 'metadata']),
    set: z.record(z.string().max(200), z.union([z.string().max(65_536), z.number(), z.boolean()])),
    unset: z.array(z.string().max(200)).max(1000),
    display: z.string().max(200).optional(),
  }),
  /** An image that a step built or pushed. */
  z.object({
    ...common,
    type: z.literal('image'),
    step: StepName,
    imageId: z.string().max(200),
    name: z.string().max(500),
    tags: z.array(z.string().max(200)).max(200),
    digest: z.string().max(200).optional(),
    sizeBytes: z.int().nonnegative().optional(),
    pushed: z.boolean(),
    /** Hash of context, Dockerfile and arguments: a later build with the same one may be skipped. */
    contentHash: z.string().max(100).optional(),
    cache: z.object({ hits: z.int().nonnegative(), misses: z.int().nonnegative() }).optional(),
  }),
  z.object({
    ...common,
    type: z.literal('notice'),
    level: z.enum(['info', 'warning']),
    step: StepName.optional(),
    message: Message,
  }),
  z.object({
    ...common,
    type: z.literal('attempt.finished'),
    outcome: AttemptOutcome,
    /** Every stream of the attempt with its whole length and hash; refused with `log-incomplete` while bytes are missing. */
    streams: z.record(z.string(), z.object({ bytes: z.int().nonnegative(), sha256: z.string() })),
  }),
])
export type EngineEvent = z.infer<typeof EngineEvent>
/** An event before it is numbered. */
export type EngineEventBody = EngineEvent extends infer E ? (E extends { seq: number } ? Omit<E, 'seq' | 'at'> : never) : never

/**
 * Stream of an attempt's own lines (start-up, waiting, summary); steps use `step/<name>`, the services of a step or group
 * `step/<name>.services`, those of the build `step/.services`, and recorded debugger terminals `terminal/<id>`.
 */
export const SYSTEM_STREAM = 'system'
export const StreamName = z
  .string()
  .min(1)
  .max(200)
  .regex(/^(system|step\/.+|terminal\/[0-9a-f]{24})$/)

export function stepStream(step: string): string {
  return `step/${step}`
}

/** What a terminal has shown. Not a part of the build's log. */
export function terminalStream(terminal: string): string {
  return `terminal/${terminal}`
}

export function isTerminalStream(stream: string): boolean {
  return stream.startsWith('terminal/')
}

/** A log frame: headers of `POST /v1/engine/logs`; the body is the bytes. Offsets count masked bytes of (build, attempt, stream). */
export const FrameHead = z.object({
  stream: StreamName,
  offset: z.coerce.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  at: z.coerce.number().int().nonnegative(),
})
export type FrameHead = z.infer<typeof FrameHead>

/** Largest body of one frame, bytes. */
export const MAX_FRAME_BYTES = 1_048_576
/** Most events in one batch. */
export const MAX_EVENTS = 500

/**
 * One entry of a build's feed. Positions are dense per build and grow; a follower that has seen position n asks for what comes after n
 * and misses nothing and sees nothing twice.
 */
export const FeedItem = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('event'),
    position: z.int().positive(),
    attempt: z.int().nonnegative(),
    source: z.enum(['server', 'engine', 'agent']),
    at: Time,
    type: z.string(),
    data: z.record(z.string(), z.unknown()),
  }),
  z.object({
    kind: z.literal('log'),
    position: z.int().positive(),
    attempt: z.int().nonnegative(),
    at: Time,
    stream: z.string(),
    offset: z.int().nonnegative(),
    /** The bytes, base64: output need not be valid UTF-8, and a character may be cut by a chunk. */
    bytes: z.string(),
  }),
])
export type FeedItem = z.infer<typeof FeedItem>
