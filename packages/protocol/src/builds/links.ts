/** Links with which people without an account see one build, or the badge of one pipeline. */
import { z } from 'zod'
import { BUILD_STATUSES, STEP_STATUSES } from '@windlass/plan'
import { Id, Time } from '../base.ts'
import { ReasonName } from '../engine/events.ts'
import { LogQuery } from '../pipelines/resources.ts'

export const LINK_KINDS = ['build', 'badge'] as const
export type LinkKind = (typeof LINK_KINDS)[number]

export const Link = z.object({
  id: Id,
  /** What it shows: status and log of a build, or the badge of a pipeline. */
  kind: z.enum(LINK_KINDS),
  buildId: Id.optional(),
  buildNumber: z.int().optional(),
  /** Name of the pipeline. Absent for a build of a document. */
  pipeline: z.string().optional(),
  createdBy: z.string(),
  createdAt: Time,
  /** The link is refused from then on. Absent for a badge without an end. */
  expiresAt: Time.optional(),
})
export type Link = z.infer<typeof Link>

const MAX_DAYS = 90
export const BuildLinkInput = z.strictObject({ expiresInDays: z.number().positive().max(MAX_DAYS).default(7) })
/** A badge is part of pages that others keep for years, so its link needs no end. */
export const BadgeLinkInput = z.strictObject({ expiresInDays: z.number().positive().max(3650).optional() })

/** The URL contains the secret of the link. It is returned only once. */
export const LinkCreated = Link.extend({ url: z.string() })
export type LinkCreated = z.infer<typeof LinkCreated>

/** Header with the secret of a link. */
export const LINK_HEADER = 'x-windlass-link'

export const SharedLogQuery = LogQuery.omit({ stream: true })

/** What a link shows of a build. */
export const SharedBuild = z.object({
  id: Id,
  number: z.int(),
  pipeline: z.string().optional(),
  status: z.enum(BUILD_STATUSES),
  reason: ReasonName.optional(),
  branch: z.string().optional(),
  revision: z.string().optional(),
  createdAt: Time,
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
  steps: z.array(z.object({ name: z.string(), title: z.string(), status: z.enum(STEP_STATUSES) })),
  /** End of the link. Absent for a build of a public pipeline. */
  expiresAt: Time.optional(),
})
export type SharedBuild = z.infer<typeof SharedBuild>
