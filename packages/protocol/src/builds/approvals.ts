/** Approvals of all builds. */
import { z } from 'zod'
import { PageQuery } from '../base.ts'
import { BuildRef } from './lists.ts'
import { Approval } from './builds.ts'

export const APPROVAL_STATES = ['open', 'decided'] as const

/** Query of `GET /v1/approvals`. Open ones are sorted by the time at which they expire, decided ones by the time of the decision, newest first. */
export const ApprovalQuery = PageQuery.extend({
  cursor: z.string().max(300).optional(),
  state: z.enum(APPROVAL_STATES).default('open'),
  /** Name of a pipeline. Default: all. */
  pipeline: z.string().min(1).max(500).optional(),
})

export const ApprovalItem = Approval.extend({
  build: BuildRef,
  /** True if the caller may decide it. */
  may: z.boolean(),
  /** Names of the steps that wait for it, at most 20. */
  next: z.array(z.string()),
})
export type ApprovalItem = z.infer<typeof ApprovalItem>
