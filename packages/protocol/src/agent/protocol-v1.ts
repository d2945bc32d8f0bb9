/**
 * Agent protocol v1, used by public agents: they poll for single objects and report the status of each. The Authorization header holds only the
 * agent token, without a scheme; `{agent}` is the id or name of the agent.
 *
 * GET  /api/agent/{agent}/tasks?waitForStatusReport=true -> ProtocolV1Task[]
 * POST /api/agent/{agent}/tasks/{task}/statuses          ProtocolV1TaskStatus -> nothing
 * PUT  /api/agent/{agent}/status                         { message } -> nothing
 */
import { z } from 'zod'
import { KubeObject } from './agent.ts'
import { Id } from '../base.ts'

const Metadata = z.object({
  /** RFC 3339, always in the same format because agents compare it as text. */
  createdAt: z.string(),
  /** Name of the runtime. */
  reName: z.string(),
  /** Id of the build. Agents process the tasks of one build in order. */
  workflowId: z.string(),
  /** Revision of the last accepted report. The next report carries this number plus one. */
  currentStatusRevision: z.int().nonnegative(),
  shouldReportStatus: z.boolean(),
})
const Deletion = z.object({ Name: z.string(), Namespace: z.string() })

export const ProtocolV1Task = z.discriminatedUnion('type', [
  z.object({ _id: Id, type: z.literal('CreatePvc'), metadata: Metadata, spec: KubeObject }),
  z.object({ _id: Id, type: z.literal('CreatePod'), metadata: Metadata, spec: KubeObject }),
  z.object({ _id: Id, type: z.literal('DeletePod'), metadata: Metadata, spec: Deletion }),
  z.object({ _id: Id, type: z.literal('DeletePvc'), metadata: Metadata, spec: Deletion }),
])
export type ProtocolV1Task = z.infer<typeof ProtocolV1Task>

export const ProtocolV1TaskStatus = z.object({
  status: z.enum(['Success', 'Error']),
  /** RFC 3339. */
  occurredAt: z.string().max(100).optional(),
  statusRevision: z.int().nonnegative(),
  isRetriable: z.boolean().default(false),
  reason: z.string().max(100_000).optional(),
})
export type ProtocolV1TaskStatus = z.infer<typeof ProtocolV1TaskStatus>

export const AgentStatus = z.object({ message: z.string().max(8192).default('') })
