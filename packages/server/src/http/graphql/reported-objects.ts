/** Fields about the rollouts and workflows that runtimes have reported. */
import { field, Pagination, timeText, toPlatformStatus, toSlice, type Fields, type Slice } from '@windlass/graphql'
import { page, ReportedRollout, ReportedWorkflow } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { given, metadataOf } from './entities.ts'
import { listField, type PlatformCall } from './platform-call.ts'

/** Objects of one list: a page of the route. */
const LISTED = 500

const Text = z.string().max(253).nullish()
const RolloutArguments = z.object({
  filters: z.object({ runtime: Text, namespace: Text, application: Text }).nullish(),
  pagination: Pagination,
})
const WorkflowArguments = z.object({
  filters: z.object({ runtime: Text, namespace: Text, template: Text }).nullish(),
  pagination: Pagination,
})

export const reportedObjectQueries: Fields<PlatformCall> = {
  rollouts: listField(RolloutArguments, async ({ filters, pagination }, { app, callRoute }) => {
    const { runtime, namespace, application } = filters ?? {}
    const query = { runtime: given(runtime), namespace: given(namespace), application: given(application), limit: LISTED }
    const { items } = await callRoute('GET /v1/gitops-rollouts', { query, answer: page(ReportedRollout) })
    return mapped(
      toSlice(items, ({ id }) => id, pagination),
      (rollout) => toRollout(app, rollout),
    )
  }),
  workflows: listField(WorkflowArguments, async ({ filters, pagination }, { app, callRoute }) => {
    const { runtime, namespace, template } = filters ?? {}
    const query = { runtime: given(runtime), namespace: given(namespace), template: given(template), limit: LISTED }
    const { items } = await callRoute('GET /v1/gitops-workflows', { query, answer: page(ReportedWorkflow) })
    return mapped(
      toSlice(items, ({ id }) => id, pagination),
      (workflow) => toWorkflow(app, workflow),
    )
  }),
  workflow: field(z.object({ uid: z.string().min(1).max(100) }), async ({ uid }, { app, callRoute }: PlatformCall) => {
    const { items } = await callRoute('GET /v1/gitops-workflows', { query: { uid, limit: 1 }, answer: page(ReportedWorkflow) })
    const [found] = items
    return found === undefined ? null : toWorkflow(app, found)
  }),
}

function mapped<T>(slice: Slice<T>, toNode: (item: T) => object): object {
  return { ...slice, edges: slice.edges.map(({ node, cursor }) => ({ cursor, node: toNode(node) })) }
}

const group = { group: 'argoproj.io', version: 'v1alpha1' } as const

function toRollout(app: App, rollout: ReportedRollout): object {
  const { name, namespace, runtime, uid, createdAt, phase, isAborted } = rollout
  return {
    metadata: metadataOf(app, { ...group, kind: 'Rollout', name, namespace, runtime, uid, createdAt }),
    name,
    uid,
    application: rollout.application,
    phase: isAborted ? 'Terminated' : toPlatformStatus('rolloutPhase', phase),
    message: rollout.message,
    currentStrategyName: rollout.strategy,
    currentRevision: rollout.revision,
    currentStepIndex: rollout.currentStep,
    weight: rollout.weight,
    isComplete: rollout.isComplete,
    paused: phase === 'paused',
    updatedAt: timeText(rollout.reportedAt),
  }
}

function toWorkflow(app: App, workflow: ReportedWorkflow): object {
  const { name, namespace, runtime, uid, createdAt, phase, progress, message, startedAt, finishedAt } = workflow
  return {
    metadata: metadataOf(app, { ...group, kind: 'Workflow', name, namespace, runtime, uid, createdAt }),
    status: {
      phase: toPlatformStatus('workflowPhase', phase),
      progress,
      message,
      startedAt: timeText(startedAt),
      finishedAt: timeText(finishedAt),
    },
    template: workflow.template,
    goneAt: timeText(workflow.goneAt),
    updatedAt: timeText(workflow.reportedAt),
  }
}
