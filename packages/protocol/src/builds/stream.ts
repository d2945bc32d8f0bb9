/**
 * The event stream of a page: `GET /v1/stream?topic=…&topic=…`, server-sent events of several topics over one connection.
 *
 * A topic names what to follow, and for all but `account` the position to start after, 0 for the beginning:
 *
 *   account                           lists: builds, approvals, runtimes, agents, deliveries, jobs of GitLab, counts
 *   build:BUILD:POSITION              events of a build after a position of its feed, and the sizes of its log streams
 *   log:BUILD:ATTEMPT:STREAM:OFFSET   bytes of a log stream from an offset
 *   terminal:BUILD:TERMINAL:NUMBER    output of a terminal after a part
 *
 * Each event has the name of a key of `STREAM_EVENTS` and JSON of that shape as data. `topic` in the
 * data is the topic without its position. The `id` of each event is a cursor over all topics. A reader that reconnects sends the last one as
 * `Last-Event-ID` or as `cursor`, to any replica and also with other topics. A topic that the cursor contains continues at the later one of both positions.
 * A reader ignores what it already has: events can repeat. A comment every 15 seconds keeps the connection open.
 */
import { BUILD_STATUSES } from '@windlass/plan'
import { z } from 'zod'
import { ApprovalItem } from './approvals.ts'
import { Build } from './builds.ts'
import { TerminalEnd } from '../engine/debug.ts'
import { FeedItem, ReasonName } from '../engine/events.ts'
import { GitlabJob } from '../runtime/gitlab-jobs.ts'
import { Agent } from '../pipelines/resources.ts'
import { Runtime } from '../runtime/runtime.ts'
import { Delivery } from '../triggers/triggers.ts'

/** Maximum number of topics of one stream. */
const MAX_STREAM_TOPICS = 32
/** Maximum number of unread bytes of a log that are sent. A reader that is further behind gets `behind` and continues near the end. */
export const MAX_UNREAD_LOG_BYTES = 1_048_576

/** A parsed topic of a stream. `key` is the topic without its position. */
export type StreamTopic =
  | { readonly kind: 'account'; readonly key: string }
  | { readonly kind: 'build'; readonly key: string; readonly build: string; readonly position: number }
  | {
      readonly kind: 'log'
      readonly key: string
      readonly build: string
      readonly attempt: number
      readonly stream: string
      readonly position: number
    }
  | {
      readonly kind: 'terminal'
      readonly key: string
      readonly build: string
      readonly terminal: string
      readonly position: number
    }

const ID = '[0-9a-f]{24}'
const BUILD_TOPIC = new RegExp(`^(build:(${ID}))(?::(\\d{1,15}))?$`)
/** The offset is required, because the name of a step may end with a colon and a number. */
const LOG_TOPIC = new RegExp(`^(log:(${ID}):(\\d{1,9}):((?:system|step/.+|terminal/${ID}))):(\\d{1,15})$`)
const TERMINAL_TOPIC = new RegExp(`^(terminal:(${ID}):(${ID}))(?::(\\d{1,15}))?$`)

/** Parses a topic. Returns undefined if it is not one. */
export function parseStreamTopic(text: string): StreamTopic | undefined {
  if (text === 'account') return { kind: 'account', key: text }
  const [, buildKey, ofBuild, after] = BUILD_TOPIC.exec(text) ?? []
  if (buildKey !== undefined && ofBuild !== undefined)
    return { kind: 'build', key: buildKey, build: ofBuild, position: Number(after ?? 0) }
  const [, logKey, ofLog, attempt, stream, offset] = LOG_TOPIC.exec(text) ?? []
  if (logKey !== undefined && ofLog !== undefined && stream !== undefined)
    return { kind: 'log', key: logKey, build: ofLog, attempt: Number(attempt), stream, position: Number(offset) }
  const [, key, build, terminal, seq] = TERMINAL_TOPIC.exec(text) ?? []
  if (key !== undefined && build !== undefined && terminal !== undefined)
    return { kind: 'terminal', key, build, terminal, position: Number(seq ?? 0) }
  return undefined
}

const Topic = z
  .string()
  .max(300)
  .refine((text) => parseStreamTopic(text) !== undefined, 'must be account, build:…, log:… or terminal:…')

/** Query of `GET /v1/stream`. The header Last-Event-ID has precedence over `cursor`. */
export const StreamQuery = z.object({
  /** One or more topics. */
  topic: z
    .union([Topic, z.array(Topic).max(MAX_STREAM_TOPICS)])
    .transform((given) => [...new Set([given].flat())])
    .pipe(z.array(z.string()).min(1)),
  /** `id` of an event of an earlier stream. */
  cursor: z.string().max(2_000).optional(),
})

/** Something in the lists of the account that is new or has changed, in its list form, or `gone` if it was deleted. */
export const AccountChange = z.discriminatedUnion('noun', [
  z.object({ noun: z.literal('build'), item: Build }),
  /** Open or decided since. `build.id` and `step` identify it. */
  z.object({ noun: z.literal('approval'), item: ApprovalItem }),
  z.object({ noun: z.literal('runtime'), item: Runtime }),
  z.object({ noun: z.literal('agent'), item: Agent }),
  z.object({ noun: z.literal('delivery'), item: Delivery }),
  z.object({ noun: z.literal('gitlab-job'), item: GitlabJob }),
  /** Applications or releases have changed. There can be thousands of them, so that readers read the ones that they show. */
  z.object({ noun: z.literal('applications') }),
  z.object({
    noun: z.literal('gone'),
    of: z.enum(['build', 'approval', 'runtime', 'agent', 'delivery', 'gitlab-job']),
    id: z.string(),
  }),
])
export type AccountChange = z.infer<typeof AccountChange>

/** Numbers beside the navigation, as far as the caller may see the builds. */
export const AccountCounts = z.object({
  /** Builds by status that have not ended. */
  builds: z.partialRecord(z.enum(BUILD_STATUSES), z.int()),
  /** Open approvals. */
  approvals: z.int(),
  /** Jobs of GitLab that have not ended. Absent if no manager of GitLab runners is known, or the caller may not see them. */
  gitlabJobs: z.int().optional(),
  /** Applications that are degraded or missing. Absent if no GitOps runtime is known, or the caller may not see them. */
  applications: z.int().optional(),
})
export type AccountCounts = z.infer<typeof AccountCounts>

/** Size of a log stream. */
export const LogHead = z.object({
  attempt: z.int(),
  stream: z.string(),
  bytes: z.int(),
  /** With the last line if it is unfinished. Absent until the lines of a log of an earlier version are counted. */
  lines: z.int().optional(),
})
export type LogHead = z.infer<typeof LogHead>

const topic = z.string()

/** Shapes of the data of the events, by their names. */
export const STREAM_EVENTS = {
  /** The first event of each stream. Changes after it are sent, so a reader without a cursor, such as that of its session, reads the lists when it arrives. */
  open: z.object({ version: z.string() }),
  /** Of `account`. */
  changed: z.object({ topic, change: AccountChange }),
  /** Of `account`: at the start, and when they change. */
  counts: z.object({ topic, counts: AccountCounts }),
  /** Of `account`: changes may be missing, because the cursor is too old, from an unknown replica, or the reader is too slow. Read the lists again. */
  reset: z.object({ topic }),
  /** Of `build`. */
  event: z.object({ topic, item: FeedItem.options[0] }),
  /** Of `build`: streams that are new or have grown, at most four times a second. At the start: all, at most 500 for each event. */
  heads: z.object({ topic, streams: z.array(LogHead) }),
  /** Of `log`: bytes at an offset, in base64, because output need not be UTF-8 and a part may end in the middle of a character. */
  log: z.object({ topic, offset: z.int(), bytes: z.string() }),
  /** Of `log`: the bytes from `from` up to `to` are left out. Read them by lines. */
  behind: z.object({ topic, from: z.int(), to: z.int() }),
  /** Of `terminal`: output in base64. */
  terminal: z.object({ topic, seq: z.int(), bytes: z.string() }),
  /**
   * Nothing more follows of the topic. Of `build`: the build has ended, with `status` and `reason`. Of `log`: the attempt has ended. Of `terminal`: with
   * `terminal`.
   */
  end: z.object({
    topic,
    status: z.enum(BUILD_STATUSES).optional(),
    reason: ReasonName.optional(),
    terminal: TerminalEnd.optional(),
  }),
  /** The topic cannot be followed, or no longer: it does not exist, or the caller has no right to it. The other topics continue. */
  problem: z.object({ topic, code: z.string(), message: z.string(), hint: z.string().optional() }),
} as const

/** Name of an event of the stream. */
export type StreamEventName = keyof typeof STREAM_EVENTS
/** Data of the event with this name. */
export type StreamEventData<N extends StreamEventName> = z.infer<(typeof STREAM_EVENTS)[N]>
/** An event of the stream, with its cursor as `id`. */
export type StreamEvent = {
  [N in StreamEventName]: { readonly event: N; readonly id: string; readonly data: StreamEventData<N> }
}[StreamEventName]
