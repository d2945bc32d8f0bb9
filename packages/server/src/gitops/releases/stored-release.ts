/** The state of a release as it is stored. What it follows is in it, so that a change of a flow or a policy does not change a release that runs. */
import {
  ENVIRONMENT_KINDS,
  GitPlace,
  Id,
  PolicyAttributes,
  PROMOTION_ACTIONS,
  PROMOTION_STATES,
  PromotionHooks,
  Pull,
  ReleaseBuild,
  ReleaseTrigger,
  STEP_STATES,
  Time,
  VersionSource,
} from '@windlass/protocol'
import { z } from 'zod'
import type { ReleaseRow } from '../../store/schema/schema.ts'

/** A build that a hook wants. It has an id once it exists. */
const StoredBuild = ReleaseBuild.extend({ variables: z.record(z.string(), z.string()) })
export type StoredBuild = z.output<typeof StoredBuild>

/** An application from which is promoted, at the commit that is promoted. */
const StoredSource = z.object({
  /** RUNTIME/NAMESPACE/NAME. */
  application: z.string(),
  component: z.string(),
  place: GitPlace,
  versionSource: VersionSource.optional(),
  promotion: z.record(z.string(), z.object({ jsonPaths: z.array(z.string()) })),
})
export type StoredSource = z.output<typeof StoredSource>

const StoredPromotion = z.object({
  /** Identifies the change in Git. A promotion that is tried again by hand has another one. */
  change: Id,
  application: z.string(),
  /** Id of the row of the application. */
  applicationId: Id,
  runtimeId: Id,
  from: z.string(),
  state: z.enum(PROMOTION_STATES),
  action: z.enum(PROMOTION_ACTIONS),
  /** `revision` is a branch; empty for the default one. */
  target: GitPlace,
  /** The commit that the application had before. */
  before: z.string().optional(),
  revision: z.string().optional(),
  isNew: z.boolean().optional(),
  version: z.string().optional(),
  pull: Pull.optional(),
  why: z.string().optional(),
  /** The errand whose result it waits for. */
  errand: Id.optional(),
  /** The last commit of the application of which was asked whether it has the change. */
  checked: z.object({ revision: z.string(), contains: z.boolean().optional() }).optional(),
  /** Since when it waits for Argo CD. */
  syncingAt: Time.optional(),
  builds: z.array(StoredBuild),
  changedAt: Time,
})
export type StoredPromotion = z.output<typeof StoredPromotion>

const StoredStep = z.object({
  environment: z.string(),
  kind: z.enum(ENVIRONMENT_KINDS),
  dependsOn: z.array(z.string()),
  /** Resolved when the release was created. */
  policy: PolicyAttributes.required({ action: true }),
  hooks: PromotionHooks,
  state: z.enum(STEP_STATES),
  /** True once its applications are known. */
  isPlanned: z.boolean(),
  why: z.string().optional(),
  promotions: z.array(StoredPromotion),
  builds: z.array(StoredBuild),
})
export type StoredStep = z.output<typeof StoredStep>

export const StoredRelease = z.object({
  flow: z.string().optional(),
  from: z.string(),
  createdBy: z.string(),
  trigger: ReleaseTrigger.optional(),
  timeoutMinutes: z.number(),
  sources: z.array(StoredSource),
  steps: z.array(StoredStep),
  hooks: PromotionHooks,
  builds: z.array(StoredBuild),
  /** What builds of hooks hand to later ones. */
  context: z.record(z.string(), z.unknown()),
  version: z.string().optional(),
  why: z.string().optional(),
  /** Why it is terminated. */
  termination: z.string().optional(),
})
export type StoredRelease = z.output<typeof StoredRelease>

export interface ReadRelease {
  readonly id: string
  readonly row: ReleaseRow
  readonly state: StoredRelease
}

export function readRelease(row: ReleaseRow): ReadRelease {
  return { id: row.id, row, state: StoredRelease.parse(JSON.parse(row.state)) }
}
