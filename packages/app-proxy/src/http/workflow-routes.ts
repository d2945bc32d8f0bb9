/** Routes of the workflows of Argo Workflows in the namespace of the runtime. */
import { fault } from '@windlass/kit'
import {
  WorkflowInput,
  WorkflowListQuery,
  WorkflowLogQuery,
  WorkflowName,
  WorkflowRemoval,
  WorkflowSubmission,
} from '@windlass/protocol'
import { z } from 'zod'
import type { Workflows } from '../workflows/workflows.ts'
import { withNamespace } from './namespaced.ts'
import { route, type Route } from './route.ts'
import type { Slots } from './slots.ts'

export interface WorkflowParts {
  /** Undefined if the runtime does not operate workflows. */
  readonly workflows: Workflows | undefined
  readonly namespace: string
  /** For each change: its body and the workflow that it reads are as large as an object of Kubernetes. */
  readonly slots: Slots
  /** For each call for logs, of which it joins several. */
  readonly logSlots: Slots
}

/** A workflow with its scripts. Objects of Kubernetes have 1.5 MiB at most. */
const MAX_WORKFLOW_BYTES = 1_048_576
const ByName = z.object({ name: WorkflowName })

export function workflowRoutes({ workflows, namespace, slots, logSlots }: WorkflowParts): Route[] {
  /** Throws `not-supported`. */
  const all = (): Workflows => {
    if (workflows !== undefined) return workflows
    throw fault('not-supported', {
      message: 'The GitOps runtime does not operate workflows.',
      hint: 'Install Argo Workflows beside it, and set `app-proxy.workflows.enabled` of the chart.',
    })
  }
  const own = [...readingRoutes(all, logSlots), ...submittingRoutes(all, slots), ...endingRoutes(all, slots)]
  return [...own, ...own.map((one) => withNamespace(one, { namespace, objects: 'workflows', owner: 'Argo Workflows' }))]
}

function readingRoutes(all: () => Workflows, logSlots: Slots): Route[] {
  return [
    route('GET', '/workflows', {
      right: 'see-gitops',
      query: WorkflowListQuery,
      handle: ({ query }) => all().list(query),
    }),
    route('GET', '/workflows/{name}', {
      right: 'see-gitops',
      params: ByName,
      handle: ({ params }) => all().get(params.name),
    }),
    route('GET', '/workflows/{name}/logs', {
      right: 'see-gitops',
      slots: logSlots,
      params: ByName,
      query: WorkflowLogQuery,
      handle: ({ params, query }) => all().logs(params.name, query),
    }),
  ]
}

function submittingRoutes(all: () => Workflows, slots: Slots): Route[] {
  return [
    // What it runs has any account of the namespace, so it needs more than a template that others have reviewed.
    route('POST', '/workflows', {
      right: 'manage-gitops',
      isWrite: true,
      slots,
      body: WorkflowSubmission,
      maxBodyBytes: MAX_WORKFLOW_BYTES,
      handle: (call) => all().create(call, call.body),
    }),
    route('POST', '/workflow-templates/{name}/submit', {
      right: 'change-gitops',
      isWrite: true,
      slots,
      params: ByName,
      body: WorkflowInput,
      maxBodyBytes: MAX_WORKFLOW_BYTES,
      handle: (call) => all().submit(call, call.params.name, call.body),
    }),
    route('POST', '/workflows/{name}/resubmit', {
      right: 'change-gitops',
      isWrite: true,
      slots,
      params: ByName,
      body: WorkflowInput,
      maxBodyBytes: MAX_WORKFLOW_BYTES,
      handle: (call) => all().resubmit(call, call.params.name, call.body),
    }),
    route('POST', '/workflows/{name}/retry', {
      right: 'change-gitops',
      isWrite: true,
      slots,
      params: ByName,
      handle: (call) => all().retry(call, call.params.name),
    }),
  ]
}

function endingRoutes(all: () => Workflows, slots: Slots): Route[] {
  return [
    route('POST', '/workflows/{name}/stop', {
      right: 'change-gitops',
      isWrite: true,
      slots,
      params: ByName,
      handle: (call) => all().stop(call, call.params.name),
    }),
    route('POST', '/workflows/{name}/terminate', {
      right: 'change-gitops',
      isWrite: true,
      slots,
      params: ByName,
      handle: (call) => all().terminate(call, call.params.name),
    }),
    route('DELETE', '/workflows/{name}', {
      right: 'change-gitops',
      isWrite: true,
      slots,
      params: ByName,
      query: WorkflowRemoval,
      async handle({ params, query }) {
        await all().remove(params.name, query)
        return undefined
      },
    }),
  ]
}
