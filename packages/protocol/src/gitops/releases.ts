/**
 * Releases of products: a release promotes the applications of a product from one environment to others, as its flow says (docs/development/adr/0136-promotions.md). What it follows is
 * frozen when it is created.
 */
import { z } from 'zod'
import { Id, PageQuery, Time } from '../base.ts'
import { DefinitionName, ENVIRONMENT_KINDS, PROMOTION_ACTIONS } from './definitions.ts'

export const RELEASE_STATUSES = ['queued', 'running', 'suspended', 'terminating', 'succeeded', 'failed', 'terminated'] as const
export type ReleaseStatus = (typeof RELEASE_STATUSES)[number]
export const LIVE_RELEASE_STATUSES = ['queued', 'running', 'suspended', 'terminating'] as const satisfies readonly ReleaseStatus[]

export const STEP_STATES = ['pending', 'running', 'suspended', 'succeeded', 'failed', 'terminated', 'skipped'] as const
export type ReleaseStepState = (typeof STEP_STATES)[number]

/**
 * `committing`: its change is being made in Git. `suspended`: its pull request is open. `syncing`: Argo CD has not applied the change yet, or the application is not healthy. `before` and `after`: a
 * build runs.
 */
export const PROMOTION_STATES = [
  'pending',
  'before',
  'committing',
  'suspended',
  'syncing',
  'after',
  'succeeded',
  'failed',
  'terminated',
] as const
export type PromotionState = (typeof PROMOTION_STATES)[number]

/** A build that a release started, and its end. */
export const ReleaseBuild = z.object({
  hook: z.string(),
  pipeline: z.string(),
  buildId: Id.optional(),
  state: z.enum(['running', 'succeeded', 'failed']),
  message: z.string().optional(),
})
export type ReleaseBuild = z.infer<typeof ReleaseBuild>

export const Pull = z.object({ number: z.int(), url: z.string() })
export type Pull = z.infer<typeof Pull>

/** The change of one application. */
export const Promotion = z.object({
  /** The application: RUNTIME/NAMESPACE/NAME. */
  application: z.string(),
  /** The application from which is promoted. */
  from: z.string(),
  state: z.enum(PROMOTION_STATES),
  action: z.enum(PROMOTION_ACTIONS),
  /** The commit; absent before it is made. */
  revision: z.string().optional(),
  /** False if the repository had the values already, so that no commit was made. */
  isNew: z.boolean().optional(),
  pull: Pull.optional(),
  /** Why it waits, or why it has failed. */
  why: z.string().optional(),
  builds: z.array(ReleaseBuild),
  changedAt: Time,
})
export type Promotion = z.infer<typeof Promotion>

export const ReleaseStep = z.object({
  environment: DefinitionName,
  kind: z.enum(ENVIRONMENT_KINDS),
  dependsOn: z.array(DefinitionName),
  state: z.enum(STEP_STATES),
  why: z.string().optional(),
  promotions: z.array(Promotion),
  builds: z.array(ReleaseBuild),
})
export type ReleaseStep = z.infer<typeof ReleaseStep>

/** The commit that started a release. */
export const ReleaseTrigger = z.object({
  /** The application that got the commit: RUNTIME/NAMESPACE/NAME. */
  application: z.string(),
  revision: z.string(),
  /** The first line of its message. */
  message: z.string(),
})
export type ReleaseTrigger = z.output<typeof ReleaseTrigger>

export const Release = z.object({
  id: Id,
  product: DefinitionName,
  /** Counts the releases of the product. */
  number: z.int().positive(),
  /** Absent for a release from one environment to another without a flow. */
  flow: DefinitionName.optional(),
  from: DefinitionName,
  status: z.enum(RELEASE_STATUSES),
  /** Of the applications in the environment from which is promoted; absent until it is read, and if the product has no source of versions. */
  version: z.string().optional(),
  /** Why it waits, or how it ended. */
  why: z.string().optional(),
  /** For a release that a commit started: the product. */
  createdBy: z.string(),
  /** Absent for a release that a user started. */
  trigger: ReleaseTrigger.optional(),
  createdAt: Time,
  startedAt: Time.optional(),
  endedAt: Time.optional(),
  steps: z.array(ReleaseStep),
  builds: z.array(ReleaseBuild),
})
export type Release = z.infer<typeof Release>

/** What a release promotes: by a flow of the product, or from one environment to another. */
export const ReleaseInput = z
  .strictObject({
    /** Default: the first flow of the product. */
    flow: DefinitionName.optional(),
    from: DefinitionName.optional(),
    to: DefinitionName.optional(),
  })
  .refine(({ from, to }) => (from === undefined) === (to === undefined), 'must have both from and to, or neither')
  .refine(({ flow, from }) => flow === undefined || from === undefined, 'must have either flow, or from and to')
  .refine(({ from, to }) => from === undefined || from !== to, 'from and to must differ')
export type ReleaseInput = z.output<typeof ReleaseInput>

export const ReleaseQuery = PageQuery.extend({
  product: DefinitionName.optional(),
  status: z.enum(RELEASE_STATUSES).optional(),
})
export type ReleaseQuery = z.output<typeof ReleaseQuery>
