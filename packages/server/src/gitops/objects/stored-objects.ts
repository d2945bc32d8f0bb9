/** The JSON of rollouts, their ReplicaSets and workflows in the store. */
import {
  ReportedRevision,
  ReportedRollout,
  ReportedWorkflow,
  ReportedWorkflowDetails,
  RolloutMoment,
  WorkflowMoment,
} from '@windlass/protocol'
import { z } from 'zod'

/** JSON in the column `facts`, by kind: what no column has. */
export const RolloutFacts = ReportedRollout.pick({
  strategy: true,
  message: true,
  isComplete: true,
  isAborted: true,
  currentStep: true,
  steps: true,
  weight: true,
  revision: true,
  replicas: true,
})
export type RolloutFacts = z.output<typeof RolloutFacts>

export const ReplicaSetFacts = ReportedRevision.pick({ revision: true, images: true, replicas: true })
export type ReplicaSetFacts = z.output<typeof ReplicaSetFacts>

export const WorkflowFacts = ReportedWorkflow.pick({
  message: true,
  progress: true,
  by: true,
  startedAt: true,
  finishedAt: true,
}).extend({ failedNodes: ReportedWorkflowDetails.shape.failedNodes })
export type WorkflowFacts = z.output<typeof WorkflowFacts>

/** JSON in the column `history`. */
export const RolloutHistory = z.array(RolloutMoment)
export const WorkflowHistory = z.array(WorkflowMoment)
