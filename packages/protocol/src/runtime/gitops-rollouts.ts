/**
 * Rollouts of Argo Rollouts in the applications of a GitOps runtime, and what users do with them (docs/development/adr/0146-rollouts.md). The app-proxy reads them in the clusters of the applications.
 */
import { z } from 'zod'
import { Time } from '../base.ts'

/** Those of Argo Rollouts. */
export const ROLLOUT_PHASES = ['healthy', 'progressing', 'paused', 'degraded', 'unknown'] as const
export type RolloutPhase = (typeof ROLLOUT_PHASES)[number]

/** `terminated`: the rollout was aborted. `paused-inconclusive`: an analysis says neither yes nor no. `paused-indefinite`: it waits for somebody. */
export const ROLLOUT_STEP_STATES = [
  'passed',
  'active',
  'paused-indefinite',
  'paused-inconclusive',
  'failed',
  'pending',
  'terminated',
] as const
export type RolloutStepState = (typeof ROLLOUT_STEP_STATES)[number]

/** What a user may do with a rollout, by the names of Argo CD. A rollback is a call of its own. */
export const ROLLOUT_ACTIONS = ['pause', 'resume', 'skip-current-step', 'promote-full', 'abort', 'retry', 'restart'] as const
export type RolloutAction = (typeof ROLLOUT_ACTIONS)[number]

export const RolloutStep = z.object({
  /** The field of the step: `setWeight`, `pause`, `analysis`, `experiment`, `setCanaryScale`, `setHeaderRoute`, `setMirrorRoute` or `plugin`. */
  kind: z.string(),
  /** The step in words, such as `Set the weight to 20 %`. */
  text: z.string(),
  state: z.enum(ROLLOUT_STEP_STATES),
})
export type RolloutStep = z.infer<typeof RolloutStep>

export const RolloutAnalysis = z.object({
  /** For which step or phase it runs. */
  of: z.enum(['step', 'background', 'pre-promotion', 'post-promotion']),
  /** Name of the AnalysisRun. */
  name: z.string(),
  /** The word of Argo Rollouts: `Running`, `Successful`, `Failed`, `Error` or `Inconclusive`. */
  status: z.string(),
  message: z.string().optional(),
})
export type RolloutAnalysis = z.infer<typeof RolloutAnalysis>

export const RolloutRevision = z.object({
  revision: z.int().nonnegative(),
  /** Name of its ReplicaSet. */
  name: z.string(),
  createdAt: Time.optional(),
  /** True for what the rollout brings. */
  isCurrent: z.boolean(),
  /** True for what gets the traffic that does not go to the current one, and stays after an abort. */
  isStable: z.boolean(),
})
export type RolloutRevision = z.infer<typeof RolloutRevision>

export const Rollout = z.object({
  namespace: z.string(),
  name: z.string(),
  uid: z.string().optional(),
  strategy: z.enum(['canary', 'blue-green', 'unknown']),
  phase: z.enum(ROLLOUT_PHASES),
  message: z.string().optional(),
  /** True once the current revision is the stable one. */
  isComplete: z.boolean(),
  isPaused: z.boolean(),
  isAborted: z.boolean(),
  steps: z.array(RolloutStep),
  /** Index of the step at which the rollout is; the number of steps after the last one. Absent if it has no steps. */
  currentStep: z.int().nonnegative().optional(),
  /** Percentage of the traffic, or of the pods, that the current revision should have now. Absent for other strategies than canary. */
  weight: z.int().nonnegative().optional(),
  replicas: z.object({ wanted: z.int().nonnegative(), updated: z.int().nonnegative(), available: z.int().nonnegative() }),
  analyses: z.array(RolloutAnalysis),
  /** Names of its Services. */
  services: z.array(z.string()),
  /** The current revision; absent until the controller has seen the rollout. */
  revision: z.int().nonnegative().optional(),
  /** Newest first. */
  revisions: z.array(RolloutRevision),
  /** What Argo CD offers in this state. */
  actions: z.array(z.enum(ROLLOUT_ACTIONS)),
})
export type Rollout = z.infer<typeof Rollout>

const KubeName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, 'must be a name of Kubernetes')

export const RolloutKey = z.strictObject({ namespace: KubeName, name: KubeName })
export type RolloutKey = z.output<typeof RolloutKey>

export const RolloutActionInput = RolloutKey.extend({
  /** The `currentStep` that the caller has seen. At another step the call is refused, so that repeating it does not pass two steps. Required to skip a step. */
  step: z.int().nonnegative().optional(),
})
export type RolloutActionInput = z.output<typeof RolloutActionInput>

/** A revision that is restored gets another number, so a repeated call is refused. */
export const RolloutRollbackInput = RolloutKey.extend({ revision: z.int().positive() })
export type RolloutRollbackInput = z.output<typeof RolloutRollbackInput>

/** Asks whether a rollback is possible. */
export const RolloutRollbackQuery = z.object({
  namespace: KubeName,
  name: KubeName,
  revision: z.coerce.number().int().positive(),
})
export type RolloutRollbackQuery = z.output<typeof RolloutRollbackQuery>

export const RolloutRollbackAvailability = z.object({
  allowed: z.boolean(),
  /** Why not, in one sentence. */
  reason: z.string().optional(),
  /** True if the revision is the one that the rollout has or brings. */
  isLatestRollout: z.boolean(),
  inRevisionsHistory: z.boolean(),
  /** How many old revisions the rollout keeps. */
  revisionHistoryLimitSettings: z.int().nonnegative(),
  /** 0 if the rollout has none yet. */
  latestRevision: z.int().nonnegative(),
})
export type RolloutRollbackAvailability = z.infer<typeof RolloutRollbackAvailability>

export const RolloutRolledBack = z.object({
  rollout: Rollout,
  /** The number that the restored revision gets. */
  newRevision: z.int().positive(),
})
export type RolloutRolledBack = z.infer<typeof RolloutRolledBack>
