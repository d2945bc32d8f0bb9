/** The calls of an agent, protocol v2. */
import {
  AgentHello,
  AgentWelcome,
  ClaimAnswer,
  ClaimRequest,
  DiskReport,
  FactAck,
  FactBatch,
  GitlabManagerId,
  GitlabReport,
  GitlabReportAnswer,
  JobReport,
  LeaseAnswer,
  LeaseRequest,
  TaskReport,
  type Client,
} from '@windlass/protocol'
import { z } from 'zod'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'

/** An agent takes the reports of a manager in its pod by the route of the server. */
export { GITLAB_ROUTES } from './gitlab.ts'

export const AGENT_ROUTES = {
  /** Registers the process of the agent. */
  hello: route('POST', '/v1/agent/hello', { body: AgentHello, answer: AgentWelcome }),
  /** Waits for tasks. Tasks have a lease and are handed out again if it expires. */
  claim: route('POST', '/v1/agent/claim', { body: ClaimRequest, answer: ClaimAnswer }),
  /** Reports the result of a task. Idempotent by task and revision. */
  report: route('POST', '/v1/agent/tasks', { body: TaskReport, answer: z.object({}) }),
  /** Renews the leases of the agent and of its tasks. */
  renewLease: route('POST', '/v1/agent/lease', { body: LeaseRequest, answer: LeaseAnswer }),
  /** Sends all disks of the agent. A report replaces the previous one; a late one is ignored. */
  reportDisks: route('POST', '/v1/agent/disks', { body: DiskReport, answer: z.object({}) }),
  /** Reports the result of a job. Idempotent by job and revision. */
  reportJob: route('POST', '/v1/agent/jobs', { body: JobReport, answer: z.object({}) }),
  /** Passes on a report of a manager of GitLab runners. It needs no epoch: an agent that stops still passes on what its manager reports. */
  reportGitlabJobs: route('PUT', '/v1/agent/gitlab-managers/{id}', {
    params: z.object({ id: GitlabManagerId }),
    body: GitlabReport,
    answer: GitlabReportAnswer,
  }),
  /** Sends observations about pods. */
  sendFacts: route('POST', '/v1/agent/facts', { body: FactBatch, answer: FactAck }),
}

export type AgentCalls = Calls<typeof AGENT_ROUTES>

/** Returns the calls of the agent whose token the client has. */
export function agentCalls(client: Client): AgentCalls {
  return bindCalls(client, AGENT_ROUTES)
}
