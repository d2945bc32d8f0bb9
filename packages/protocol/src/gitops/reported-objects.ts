/**
 * Rollouts of Argo Rollouts and workflows of Argo Workflows in `/v1`, as the reporters of GitOps runtimes report them (docs/development/adr/0159-reported-rollouts-and-workflows.md). What a runtime has
 * now, and what can be done with it, is asked of its app-proxy (`runtime/gitops-rollouts.ts`, `runtime/gitops-workflows.ts`).
 */
import { z } from 'zod'
import { Id, PageQuery, Time } from '../base.ts'
import { GitopsRuntimeName } from '../runtime/gitops.ts'
import { ROLLOUT_PHASES } from '../runtime/gitops-rollouts.ts'
import { WORKFLOW_PHASES } from '../runtime/gitops-workflows.ts'

/** Kinds of objects that are reported besides applications. ReplicaSets are those of rollouts: their revisions. */
export const REPORTED_KINDS = ['Rollout', 'ReplicaSet', 'Workflow'] as const
export type ReportedKind = (typeof REPORTED_KINDS)[number]

/** States of one rollout or workflow that are kept, the newest ones. */
export const MAX_OBJECT_HISTORY = 30

const Reported = z.object({
  id: Id,
  runtime: GitopsRuntimeName,
  namespace: z.string(),
  name: z.string(),
  /** Of the object in the cluster. */
  uid: z.string(),
  /** Since when it has its phase. */
  since: Time,
  /** When the runtime last reported, or last named the object, if that is so long ago that the state may be out of date. */
  silentSince: Time.optional(),
  /** When the state was read in the cluster. */
  reportedAt: Time,
  /** When the object was created in the cluster. */
  createdAt: Time,
})

export const ReportedRollout = Reported.extend({
  /** Name of the application of Argo CD that has it, if its marks say so. */
  application: z.string().optional(),
  strategy: z.enum(['canary', 'blue-green', 'unknown']),
  phase: z.enum(ROLLOUT_PHASES),
  message: z.string().optional(),
  /** True once the current revision is the stable one. */
  isComplete: z.boolean(),
  isAborted: z.boolean(),
  /** Index of the step at which the rollout is, and the number of steps. Absent if it has none. */
  currentStep: z.int().nonnegative().optional(),
  steps: z.int().nonnegative(),
  /** Percentage that the current revision should have. Absent for other strategies than canary. */
  weight: z.int().nonnegative().optional(),
  /** The current revision; absent until the controller has seen the rollout. */
  revision: z.int().nonnegative().optional(),
  replicas: z.object({ wanted: z.int().nonnegative(), updated: z.int().nonnegative(), available: z.int().nonnegative() }),
})
export type ReportedRollout = z.infer<typeof ReportedRollout>

/** A state that a rollout had. */
export const RolloutMoment = ReportedRollout.pick({
  phase: true,
  message: true,
  currentStep: true,
  weight: true,
  revision: true,
}).extend({
  /** When the reporter read it. */
  at: Time,
})
export type RolloutMoment = z.infer<typeof RolloutMoment>

/** A ReplicaSet of a rollout. */
export const ReportedRevision = z.object({
  revision: z.int().nonnegative().optional(),
  /** Name of the ReplicaSet. */
  name: z.string(),
  images: z.array(z.string()),
  replicas: z.object({ wanted: z.int().nonnegative(), available: z.int().nonnegative() }),
  createdAt: Time,
})
export type ReportedRevision = z.infer<typeof ReportedRevision>

export const ReportedRolloutDetails = ReportedRollout.extend({
  /** Newest first. */
  revisions: z.array(ReportedRevision),
  /** Newest first, at most `MAX_OBJECT_HISTORY`. */
  history: z.array(RolloutMoment),
})
export type ReportedRolloutDetails = z.infer<typeof ReportedRolloutDetails>

export const ReportedWorkflow = Reported.extend({
  phase: z.enum(WORKFLOW_PHASES),
  message: z.string().optional(),
  /** Finished and all nodes, such as `2/3`. */
  progress: z.string().optional(),
  /** Template of which it was submitted, and who submitted it. */
  template: z.string().optional(),
  by: z.string().optional(),
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
  /** Set for a workflow that is not in the cluster anymore. It is shown for a week. */
  goneAt: Time.optional(),
})
export type ReportedWorkflow = z.infer<typeof ReportedWorkflow>

/** A state that a workflow had. */
export const WorkflowMoment = ReportedWorkflow.pick({ phase: true, progress: true }).extend({ at: Time })
export type WorkflowMoment = z.infer<typeof WorkflowMoment>

export const ReportedWorkflowDetails = ReportedWorkflow.extend({
  /** Pods that failed, with what Argo Workflows says. The first ones, unless it keeps the nodes elsewhere. */
  failedNodes: z.array(z.object({ name: z.string(), message: z.string().optional() })),
  /** Newest first, at most `MAX_OBJECT_HISTORY`. */
  history: z.array(WorkflowMoment),
})
export type ReportedWorkflowDetails = z.infer<typeof ReportedWorkflowDetails>

const ObjectQuery = PageQuery.extend({
  cursor: z.string().min(1).max(600).optional(),
  runtime: GitopsRuntimeName.optional(),
  namespace: z.string().min(1).max(63).optional(),
  /** A part of the name. */
  q: z.string().min(1).max(253).optional(),
  uid: z.string().min(1).max(100).optional(),
})

/** Rollouts are listed by name. */
export const ReportedRolloutQuery = ObjectQuery.extend({
  phase: z.enum(ROLLOUT_PHASES).optional(),
  /** Name of an application of Argo CD. */
  application: z.string().min(1).max(253).optional(),
})
export type ReportedRolloutQuery = z.output<typeof ReportedRolloutQuery>

/** Workflows are listed by their creation, the last one first. */
export const ReportedWorkflowQuery = ObjectQuery.extend({
  phase: z.enum(WORKFLOW_PHASES).optional(),
  template: z.string().min(1).max(253).optional(),
})
export type ReportedWorkflowQuery = z.output<typeof ReportedWorkflowQuery>
