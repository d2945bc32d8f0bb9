/**
 * Agent protocol 1, which public agents speak (runner specification 2): they poll for single objects and tell what became of each. The agent's token
 * stands bare in the Authorization header; `{agent}` is its id or name.
 *
 * GET  /api/agent/{agent}/tasks?waitForStatusReport=true -> PolledTask[]
 * POST /api/agent/{agent}/tasks/{task}/statuses          PolledTaskStatus -> nothing
 * PUT  /api/agent/{agent}/status                         { message } -> nothing
 */
import { z } from 'zod'
import { KubeObject } from './agent.ts'
import { Id } from './base.ts'

const Metadata = z.object({
  /** RFC 3339, always in the same form: agents compare it as text. */
  createdAt: z.string(),
  /** Name of the runtime. */
  reName: z.string(),
  /** Id of the build: agents work on the tasks of one build one after the other. */
  workflowId: z.string(),
  /** Of the last report that was taken; the next one carries the number after it. */
  currentStatusRevision: z.int().nonnegative(),
  shouldReportStatus: z.boolean(),
})
const Deletion = z.object({ Name: z.string(), Namespace: z.string() })

export const PolledTask = z.discriminatedUnion('type', [
  z.object({ _id: Id, type: z.literal('CreatePvc'), metadata: Metadata, spec: KubeObject }),
  z.object({ _id: Id, type: z.literal('CreatePod'), metadata: Metadata, spec: KubeObject }),
  z.object({ _id: Id, type: z.literal('DeletePod'), metadata: Metadata, spec: Deletion }),
  z.object({ _id: Id, type: z.literal('DeletePvc'), metadata: Metadata, spec: Deletion }),
])
export type PolledTask = z.infer<typeof PolledTask>

export const PolledTaskStatus = z.object({
  status: z.enum(['Success', 'Error']),
  /** RFC 3339. */
  occurredAt: z.string().max(100).optional(),
  statusRevision: z.int().nonnegative(),
  isRetriable: z.boolean().default(false),
  reason: z.string().max(100_000).optional(),
})
export type PolledTaskStatus = z.infer<typeof PolledTaskStatus>

export const AgentStatus = z.object({ message: z.string().max(8192).default('') })
