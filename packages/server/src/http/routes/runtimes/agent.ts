/** Routes of agents, protocol v2. The shapes are documented in `protocol/agent/agent.ts`. */
import { fault } from '@windlass/kit'
import {
  AgentHello,
  AgentWelcome,
  ClaimAnswer,
  ClaimRequest,
  DiskReport,
  FactAck,
  FactBatch,
  GitlabReport,
  GitlabReportAnswer,
  JobReport,
  LeaseAnswer,
  LeaseRequest,
  MAX_GITLAB_REPORT_BODY_BYTES,
  TaskReport,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import type { Actor } from '../../../identity/actor.ts'
import { takeJobReport } from '../../../agents/jobs.ts'
import { takeDiskReport } from '../../../disks/take-report.ts'
import { takeGitlabReport } from '../../../gitlab-jobs/take-report.ts'
import { claim } from '../../../tasks/claim.ts'
import { greetAgent } from '../../../tasks/hello.ts'
import { extendLease, reportTask, takeFacts } from '../../../tasks/report.ts'
import { ok, route, type Route } from '../../route.ts'
import { ByManager, REPORTS_AT_ONCE } from './gitlab-job.ts'

function requireAgent(actor: Actor): Extract<Actor, { kind: 'agent' }> {
  if (actor.kind !== 'agent') throw fault('forbidden')
  return actor
}

const agentOf = (actor: Actor): string => requireAgent(actor).id

export function agentRoutes(app: App): Route[] {
  return [
    route('POST', '/v1/agent/hello', {
      summary: 'Register an agent process',
      allow: 'agent',
      scope: 'none',
      body: AgentHello,
      replies: { 200: AgentWelcome },
      handle: async ({ body, actor }) => ok(await greetAgent(app, agentOf(actor), body)),
    }),
    route('POST', '/v1/agent/claim', {
      summary: 'Wait for tasks',
      allow: 'agent',
      scope: 'none',
      body: ClaimRequest,
      replies: { 200: ClaimAnswer },
      isHeld: true,
      handle: async ({ body, actor, signal }) => ok(await claim(app, agentOf(actor), body, signal)),
    }),
    route('POST', '/v1/agent/tasks', {
      summary: 'Report the result of a task',
      allow: 'agent',
      scope: 'none',
      body: TaskReport,
      replies: { 200: z.object({}) },
      async handle({ body, actor }) {
        await reportTask(app, agentOf(actor), body)
        return ok({})
      },
    }),
    route('POST', '/v1/agent/lease', {
      summary: 'Renew the leases of tasks',
      allow: 'agent',
      scope: 'none',
      body: LeaseRequest,
      replies: { 200: LeaseAnswer },
      handle: async ({ body, actor }) =>
        ok({ leaseMs: app.timings.taskLeaseMs, ...(await extendLease(app, agentOf(actor), body)) }),
    }),
    route('POST', '/v1/agent/disks', {
      summary: 'Report the disks of builds',
      allow: 'agent',
      scope: 'none',
      body: DiskReport,
      replies: { 200: z.object({}) },
      async handle({ body, actor }) {
        await takeDiskReport(app, agentOf(actor), body)
        return ok({})
      },
    }),
    route('POST', '/v1/agent/jobs', {
      summary: 'Report the result of a job that belongs to no build',
      allow: 'agent',
      scope: 'none',
      body: JobReport,
      replies: { 200: z.object({}) },
      async handle({ body, actor }) {
        await takeJobReport(app, agentOf(actor), body)
        return ok({})
      },
    }),
    route('PUT', '/v1/agent/gitlab-managers/{id}', {
      summary: 'Pass on the report of a manager of GitLab runners',
      allow: 'agent',
      scope: 'none',
      params: ByManager,
      body: GitlabReport,
      maxBodyBytes: MAX_GITLAB_REPORT_BODY_BYTES,
      callsAtOnce: REPORTS_AT_ONCE,
      replies: { 200: GitlabReportAnswer },
      handle: async ({ params: { id }, body: report, actor }) =>
        ok(await takeGitlabReport(app, { id, from: { agent: requireAgent(actor).name }, report })),
    }),
    route('POST', '/v1/agent/facts', {
      summary: 'Report facts about pods',
      allow: 'agent',
      scope: 'none',
      body: FactBatch,
      replies: { 200: FactAck },
      handle: async ({ body, actor }) => ok({ ackSeq: await takeFacts(app, agentOf(actor), body) }),
    }),
  ]
}
