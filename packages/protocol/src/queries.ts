/** Queries of `/v1` that belong to no single resource file, and the page of a feed. */
import { BUILD_STATUSES, REASON_NAMES } from '@windlass/plan'
import { z } from 'zod'
import { Id, PageQuery } from './base.ts'
import { MonitoredKind } from './agent/monitor.ts'
import { FeedItem } from './engine/events.ts'

const Position = z.coerce.number().int().nonnegative().default(0)
const HeldMs = z.coerce.number().int().min(0).max(60_000).default(0)
const Statuses = z
  .string()
  .max(200)
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(BUILD_STATUSES)))

/** A parameter that may be repeated. Each value is an alternative. */
function several<T extends z.ZodType>(value: T) {
  return z
    .union([value, z.array(value).max(50)])
    .transform((given) => (Array.isArray(given) ? given : [given]))
    .optional()
}

const Text = z.string().min(1).max(500)
const Millis = z.coerce.number().int().nonnegative().optional()

/** Filters of builds. A build must match all of them; the values of a repeated one are alternatives. */
export const BuildFilterQuery = z.object({
  /** One or more, separated by commas. */
  status: Statuses.optional(),
  /** Name or id. */
  project: several(Text),
  /** Name or id. */
  pipeline: several(Text),
  branch: several(Text),
  initiator: several(Text),
  /** Name of a trigger of the pipeline. */
  trigger: several(Text),
  runtime: several(Text),
  /** Why builds wait, or have ended. */
  reason: several(z.enum(REASON_NAMES)),
  /** At least the first four characters of a commit, or the whole name of a tag. */
  revision: Text.optional(),
  number: z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER).optional(),
  /** Created at this time or later, and before the other one. Epoch milliseconds. */
  from: Millis,
  to: Millis,
  /** Part of the commit message or the branch, the start of the commit, or a number. `#7` is only the build with this number. */
  q: z.string().max(200).optional(),
  /** `name` or `name=value`. All must match. */
  annotation: z
    .union([z.string().max(1000), z.array(z.string().max(1000)).max(20)])
    .transform((given) => [given].flat())
    .optional(),
})

export const BuildQuery = PageQuery.extend(BuildFilterQuery.shape)

/** The values by which builds can be counted. */
export const COUNTED_BY = ['status', 'project', 'pipeline', 'branch', 'initiator', 'runtime', 'trigger', 'reason'] as const
export const BuildCountsQuery = BuildFilterQuery.extend({ by: z.enum(COUNTED_BY) })

/** Query of `GET /v1/builds/{id}/wait`. */
export const WaitQuery = z.object({ timeoutMs: z.coerce.number().int().min(0).default(30_000) })

/** Query of `GET /v1/builds/{id}/feed`: the items after a position. */
export const FeedQuery = z.object({
  after: Position,
  limit: z.coerce.number().int().min(1).max(1000).default(200),
  /** False leaves out the log, so that events are found without reading it. */
  logs: z.stringbool().default(true),
})
/** Stored items of a feed. `next` is the position to continue after. */
export const FeedPage = z.object({ items: z.array(FeedItem), next: z.int() })
export type FeedPage = z.infer<typeof FeedPage>

/** Query of `GET /v1/builds/{id}/follow`. The header Last-Event-ID has precedence. */
export const FollowQuery = z.object({ after: Position })

/** Query of the streams of a terminal: the parts after a number. */
export const TerminalQuery = z.object({ after: Position })

/** Query of `GET /v1/engine/commands`, held open for `waitMs`. */
export const CommandQuery = z.object({ after: Position, waitMs: HeldMs })

/** Query of `GET /v1/engine/git`. */
export const GitAccessQuery = z.object({ context: z.string().min(1).max(150) })
export type GitAccessQuery = z.infer<typeof GitAccessQuery>

/** Query of `GET /v1/engine/docker`, held open for `waitMs`. */
export const DockerQuery = z.object({ waitMs: HeldMs })

export const ImageQuery = PageQuery.extend({
  /** Name or id. */
  pipeline: z.string().max(300).optional(),
  build: Id.optional(),
  name: z.string().max(500).optional(),
})

/** Query of `GET /v1/monitors/{cluster}/objects`. */
export const ObjectQuery = PageQuery.extend({
  cursor: z.string().min(1).max(600).optional(),
  kind: MonitoredKind.optional(),
  namespace: z.string().max(63).optional(),
})
