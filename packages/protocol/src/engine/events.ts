/**
 * Events: numbered facts about a build. Key: (build, attempt, source, sequence), so that an event may be sent twice.
 * Engines send engine events, agents send agent facts (agent.ts), and the server writes server events.
 */
import { isRecord } from '@windlass/kit/json'
import { z } from 'zod'
import { ANNOTATED_ENTITIES, FINAL_BUILD_STATUSES, FINAL_STEP_STATUSES, REASON_NAMES, RESUME_CAUSES } from '@windlass/plan'
import { Time } from '../base.ts'

export const ReasonName = z.enum(REASON_NAMES)
const StepName = z.string().min(1).max(150)
const Message = z.string().max(8192)

export const ExportedVariable = z.object({
  name: z.string().min(1).max(200),
  value: z.string().max(1_048_576),
  secret: z.boolean(),
})

/**
 * How an attempt ended, as reported by the engine. The server derives the build status from it with the functions of `plan`.
 * `pending-approval`: nothing runs and a step waits for approval. Another attempt continues after the decision.
 */
export const AttemptOutcome = z.object({
  status: z.enum([...FINAL_BUILD_STATUSES, 'pending-approval']),
  reason: ReasonName.optional(),
  message: Message.optional(),
  /** Step that caused the outcome. */
  step: StepName.optional(),
})
export type AttemptOutcome = z.infer<typeof AttemptOutcome>

/** Why an attempt continues where another one ended. Absent: a loss of infrastructure. */
export const Resumption = z.object({
  cause: z.enum(RESUME_CAUSES),
  /** With a restart: the step to run again. */
  from: StepName.optional(),
})
export type Resumption = z.infer<typeof Resumption>

/** Phases at which the debugger can hold a step. */
export const DEBUG_PHASES = ['before', 'override', 'after', 'failure'] as const
export type DebugPhase = (typeof DEBUG_PHASES)[number]

/** Peaks so far, sampled once a second. Times in milliseconds, sizes in bytes. */
export const Usage = z.object({
  /** In `step.usage`: memory in use now, over all containers of the step. Absent from older engines. */
  memoryBytes: z.int().nonnegative().optional(),
  memoryPeakBytes: z.int().nonnegative().optional(),
  memoryLimitBytes: z.int().nonnegative().optional(),
  cpuMs: z.int().nonnegative().optional(),
  readBytes: z.int().nonnegative().optional(),
  writtenBytes: z.int().nonnegative().optional(),
})
export type Usage = z.infer<typeof Usage>

/** The image that the container of a step used, and its digest at the registry. */
export const StepImage = z.object({ name: z.string().max(1000), digest: z.string().max(200).optional() })

/**
 * Phases of a step: its image is found or pulled, its services start, its container is created, its commands run, and its exports are read. Kinds of steps
 * without a container of the user only have `services` and `run`.
 */
export const STEP_PHASES = ['pull', 'services', 'create', 'run', 'export'] as const
export type StepPhase = (typeof STEP_PHASES)[number]

/** The start of a phase, which ends with the next one or with the step. */
export const PhaseStart = z.object({ phase: z.enum(STEP_PHASES), at: Time })
export type PhaseStart = z.infer<typeof PhaseStart>

const common = { seq: z.int().positive(), at: Time }

const AnyEvent = z.discriminatedUnion('type', [
  z.object({
    ...common,
    type: z.literal('attempt.started'),
    engineVersion: z.string().max(50),
    docker: z.object({ version: z.string().max(100), api: z.string().max(20) }),
    /** False if the shared volume of this build was not found on the disk. `resume` of `plan` decides which steps run again. */
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
    /** With the reason `debugger`: the phase at which the step is held. */
    phase: z.enum(DEBUG_PHASES).optional(),
  }),
  /** Sent by an engine that received the decision. The server writes it if no attempt is live. */
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
    /** Names in `members` and `outputs` whose values contain a secret. The values are encrypted at rest and masked in output. */
    sealed: z
      .object({
        members: z.array(z.string().max(200)).max(1000).readonly(),
        outputs: z.array(z.string().max(200)).max(1000).readonly(),
      })
      .partial()
      .optional(),
    /** Peaks over the containers of the step. */
    usage: Usage.optional(),
    image: StepImage.optional(),
    phases: z.array(PhaseStart).max(100).optional(),
    /**
     * Lengths of the streams of the step and of its services at the end; other names are ignored. The event is refused with `log-incomplete`
     * while bytes are missing, so that the end of a step follows its last line in the feed.
     */
    streams: z.record(z.string(), z.int().nonnegative()).optional(),
  }),
  /** A phase that has lasted for a second; `since` is its start. Shorter ones are only in `step.finished`. */
  z.object({ ...common, type: z.literal('step.phase'), step: StepName, phase: z.enum(STEP_PHASES), since: Time }),
  /** Resource usage of a running step, sent periodically. */
  z.object({ ...common, type: z.literal('step.usage'), step: StepName, usage: Usage }),
  /** Annotations or image metadata to write. `id` defaults to this build, its pipeline or its project. */
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
    /** Hash of context, Dockerfile and arguments. A later build with the same hash may be skipped. */
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
    /** Total length and hash of every stream of the attempt. The event is refused with `log-incomplete` while bytes are missing. */
    streams: z.record(z.string(), z.object({ bytes: z.int().nonnegative(), sha256: z.string() })),
  }),
])

/** An event of an engine, as the server reads it. */
export const EngineEvent = z.preprocess(withOwnStreams, AnyEvent)
export type EngineEvent = z.infer<typeof EngineEvent>

/**
 * Removes the lengths of foreign streams from `step.finished`: each costs a check, and the server would wait for bytes that may never arrive.
 * They are not refused, because a refused event blocks all later ones.
 */
function withOwnStreams(event: unknown): unknown {
  if (!isRecord(event) || event['type'] !== 'step.finished' || !isRecord(event['streams'])) return event
  const { step, streams } = event
  const own = [stepStream(String(step)), serviceStream(String(step))].filter((name) => Object.hasOwn(streams, name))
  return { ...event, streams: Object.fromEntries(own.map((name) => [name, streams[name]])) }
}

/** An event without its sequence number. */
export type EngineEventBody = EngineEvent extends infer E ? (E extends { seq: number } ? Omit<E, 'seq' | 'at'> : never) : never

/**
 * Stream of the attempt itself (startup, waiting, summary). Steps use `step/<name>`, the services of a step or group
 * `step/<name>.services`, the services of the build `step/.services`, and recorded debugger terminals `terminal/<id>`.
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

/** Returns the stream of the services of a step or group. */
export function serviceStream(owner: string): string {
  return stepStream(`${owner}.services`)
}

/** Returns the stream of the output of a terminal. It is not part of the build log. */
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
  /** `1`: the frame was sent before the answer to the earlier ones of its stream. The server waits for them. */
  ahead: z.literal('1').optional(),
})
export type FrameHead = z.infer<typeof FrameHead>

/** The missing end of a stream of a lost attempt. Data of the event `log.incomplete`. */
export const MissingLog = z.object({
  stream: StreamName,
  /** End of the stored stream. */
  from: z.int().nonnegative(),
  /** Number of bytes after `from` that the engine is known to have written; there may be more. 0: the step was running, nothing more is known. */
  atLeast: z.int().nonnegative(),
})
export type MissingLog = z.infer<typeof MissingLog>

/** Maximum body size of one frame, bytes. */
export const MAX_FRAME_BYTES = 1_048_576
/** Maximum number of events in one batch. */
export const MAX_EVENTS = 500

/**
 * One entry of the feed of a build. Positions increase by one per build. A follower that has seen position n continues after n and sees each
 * entry exactly once. If an old log was deleted, one event `log.expired` replaces each missing range of positions (`data.from` to `data.to`,
 * which is also its own position). `attempt.lost` is followed by an event `log.incomplete` for each stream whose end was not sent (`data` is a
 * MissingLog).
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
    /** Base64, because output need not be valid UTF-8 and a chunk may end in the middle of a character. */
    bytes: z.string(),
  }),
])
export type FeedItem = z.infer<typeof FeedItem>
