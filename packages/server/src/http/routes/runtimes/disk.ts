/** Routes of disks of builds, and of the checks of agents. */
import { AgentChecks, DiskPage, DiskQuery, DiskRemoval, DoctorReport } from '@windlass/protocol'
import { z } from 'zod'
import { putDoctorReport, requestChecks, showChecks } from '../../../agents/checks.ts'
import type { App } from '../../../app.ts'
import { removeDisk } from '../../../disks/remove-disk.ts'
import { listDiskPage } from '../../../disks/show-disks.ts'
import { nameOf } from '../../../identity/actor.ts'
import { ok, route, type Route } from '../../route.ts'
import { ByName } from '../pipelines/pipeline.ts'

const ById = z.object({ id: z.string().min(1).max(253) })

export function diskRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/disks', {
      summary: 'List the disks of builds with their use, last build and state, newest first',
      allow: 'see-runners',
      scope: 'runtime:read',
      query: DiskQuery,
      replies: { 200: DiskPage },
      handle: async ({ query }) => ok(await listDiskPage(app, query)),
    }),
    route('DELETE', '/v1/disks/{id}', {
      summary: 'Let the agent remove a disk, by id or name; refused while a build uses it',
      allow: 'manage-runners',
      scope: 'runtime:write',
      params: ById,
      replies: { 200: DiskRemoval },
      isHeld: true,
      handle: async ({ params, actor, signal }) => ok(await removeDisk(app, params.id, { by: nameOf(actor), signal })),
    }),
    route('GET', '/v1/agents/{name}/checks', {
      summary: 'Show the last checks of an agent',
      allow: 'see-runners',
      scope: 'agent:read',
      params: ByName,
      replies: { 200: AgentChecks },
      handle: async ({ params }) => ok(await showChecks(app, params.name)),
    }),
    route('POST', '/v1/agents/{name}/checks', {
      summary: 'Let an agent check its clusters and its connection, and wait shortly for the findings',
      allow: 'manage-runners',
      scope: 'agent:write',
      params: ByName,
      replies: { 200: AgentChecks },
      isHeld: true,
      handle: async ({ params, actor, signal }) => ok(await requestChecks(app, params.name, { by: nameOf(actor), signal })),
    }),
    route('PUT', '/v1/agents/{name}/checks', {
      summary: 'Store the findings of `windlass doctor` about the cluster of an agent',
      allow: 'manage-runners',
      scope: 'agent:write',
      params: ByName,
      body: DoctorReport,
      replies: { 200: AgentChecks },
      handle: async ({ params, body, actor }) => ok(await putDoctorReport(app, params.name, { ...body, by: nameOf(actor) })),
    }),
  ]
}
