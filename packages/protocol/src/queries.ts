/** Queries of `/v1` that belong to no single resource file, and the page of a feed. */
import { BUILD_STATUSES } from '@windlass/plan'
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

export const BuildQuery = PageQuery.extend({
  /** One or more, separated by commas. */
  status: Statuses.optional(),
  /** Name or id. */
  pipeline: z.string().max(300).optional(),
  branch: z.string().max(500).optional(),
  /** `name` or `name=value`. All must match. */
  annotation: z.union([z.string().max(1000), z.array(z.string().max(1000)).max(20)]).optional(),
})

/** Query of `GET /v1/builds/{id}/wait`. */
export const WaitQuery = z.object({ timeoutMs: z.coerce.number().int().min(0).default(30_000) })

/** Query of `GET /v1/builds/{id}/feed`: the items after a position. */
export const FeedQuery = z.object({ after: Position, limit: z.coerce.number().int().min(1).max(1000).default(200) })
/** Stored items of a feed. `next` is the position to continue after. */
export const FeedPage = z.object({ items: z.array(FeedItem), next: z.int() })
export type FeedPage = z.infer<typeof FeedPage>

/** Query of `GET /v1/builds/{id}/follow`. The header Last-Event-ID has precedence. */
export const FollowQuery = z.object({ after: Position })

/** Query of the streams of a terminal: the parts after a number. */
export const TerminalQuery = z.object({ after: Position })

/** Query of `GET /v1/engine/commands`, held open for `waitMs`. */
export const CommandQuery = z.object({ after: Position, waitMs: HeldMs })

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
