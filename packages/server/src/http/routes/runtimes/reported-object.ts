/** Routes of the rollouts and workflows that GitOps runtimes have reported. The shapes are documented in `protocol/gitops`. */
import {
  page,
  ReportedRollout,
  ReportedRolloutDetails,
  ReportedRolloutQuery,
  ReportedWorkflow,
  ReportedWorkflowDetails,
  ReportedWorkflowQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { listRolloutPage, listWorkflowPage, showRollout, showWorkflow } from '../../../gitops/objects/show-objects.ts'
import { ok, route, type Route } from '../../route.ts'

/** The id, or RUNTIME/NAMESPACE/NAME with encoded slashes. */
const ById = z.object({ id: z.string().min(1).max(600) })

export function reportedObjectRoutes(app: App): Route[] {
  const read = { allow: 'see-gitops', scope: 'gitops:read' } as const
  return [
    route('GET', '/v1/gitops-rollouts', {
      ...read,
      summary: 'List the rollouts that GitOps runtimes have reported, by name',
      query: ReportedRolloutQuery,
      replies: { 200: page(ReportedRollout) },
      handle: async ({ query }) => ok(await listRolloutPage(app, query)),
    }),
    route('GET', '/v1/gitops-rollouts/{id}', {
      ...read,
      summary: 'Show a reported rollout with its revisions and the states that it had',
      params: ById,
      replies: { 200: ReportedRolloutDetails },
      handle: async ({ params }) => ok(await showRollout(app, params.id)),
    }),
    route('GET', '/v1/gitops-workflows', {
      ...read,
      summary: 'List the workflows that GitOps runtimes have reported, the last one first; those that are gone stay for a week',
      query: ReportedWorkflowQuery,
      replies: { 200: page(ReportedWorkflow) },
      handle: async ({ query }) => ok(await listWorkflowPage(app, query)),
    }),
    route('GET', '/v1/gitops-workflows/{id}', {
      ...read,
      summary: 'Show a reported workflow with its failed pods and the phases that it had',
      params: ById,
      replies: { 200: ReportedWorkflowDetails },
      handle: async ({ params }) => ok(await showWorkflow(app, params.id)),
    }),
  ]
}
