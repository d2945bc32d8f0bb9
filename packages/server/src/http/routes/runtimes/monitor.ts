/** Routes of cluster monitors and their reports. The shapes are documented in `protocol/agent/monitor.ts`. */
import { fault } from '@windlass/kit'
import {
  ClusterObject,
  Monitor,
  MonitoredKind,
  MonitorHello,
  MonitorWelcome,
  Name,
  ObjectAck,
  ObjectBatch,
  ObjectQuery,
  page,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import type { Actor } from '../../../identity/actor.ts'
import { registerMonitor, listShownMonitors, removeMonitor, takeObjects, toClusterObject } from '../../../monitor/monitor.ts'
import { foreignCursor } from '../../../store/cursor.ts'
import { listObjects } from '../../../store/runtimes/cluster-objects.ts'
import { done, ok, route, type Route } from '../../route.ts'

const ByCluster = z.object({ cluster: Name })
const Cursor = z.tuple([MonitoredKind, z.string(), z.string()])

function readCursor(text: string): { kind: MonitoredKind; namespace: string; name: string } {
  const parsed = Cursor.safeParse(text.split('/'))
  if (!parsed.success) throw foreignCursor()
  const [kind, namespace, name] = parsed.data
  return { kind, namespace, name }
}

function agentOf(actor: Actor): string {
  if (actor.kind !== 'agent') throw fault('forbidden')
  return actor.id
}

export function monitorRoutes(app: App): Route[] {
  return [...reportRoutes(app), ...viewRoutes(app)]
}

function reportRoutes(app: App): Route[] {
  return [
    route('POST', '/v1/monitor/hello', {
      summary: 'Register a monitor process',
      allow: 'agent',
      scope: 'none',
      body: MonitorHello,
      replies: { 200: MonitorWelcome },
      handle: async ({ body, actor }) => ok(await registerMonitor(app, agentOf(actor), body)),
    }),
    route('POST', '/v1/monitor/objects', {
      summary: 'Report changed objects of a cluster',
      allow: 'agent',
      scope: 'none',
      body: ObjectBatch,
      replies: { 200: ObjectAck },
      handle: async ({ body, actor }) => ok(await takeObjects(app, agentOf(actor), body)),
    }),
  ]
}

function viewRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/monitors', {
      summary: 'List the monitored clusters',
      allow: 'see-runners',
      scope: 'cluster:read',
      replies: { 200: page(Monitor) },
      handle: async () => ok({ items: await listShownMonitors(app) }),
    }),
    route('DELETE', '/v1/monitors/{cluster}', {
      summary: 'Delete the reported objects of a cluster',
      allow: 'manage-runners',
      scope: 'cluster:write',
      params: ByCluster,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeMonitor(app, params.cluster)
        return done
      },
    }),
    route('GET', '/v1/monitors/{cluster}/objects', {
      summary: 'List the objects of a cluster',
      allow: 'see-runners',
      scope: 'cluster:read',
      params: ByCluster,
      query: ObjectQuery,
      replies: { 200: page(ClusterObject) },
      async handle({ params, query: { limit, cursor, kind, namespace } }) {
        const filter = {
          accountId: app.accountId,
          cluster: params.cluster,
          kind,
          namespace,
          after: cursor === undefined ? undefined : readCursor(cursor),
          limit,
        }
        const items = (await listObjects(app.store.query, filter)).map(toClusterObject)
        const last = items.length === limit ? items.at(-1) : undefined
        return ok({ items, ...present({ next: last && `${last.kind}/${last.namespace}/${last.name}` }) })
      },
    }),
  ]
}
