/** Monitors of clusters, and what they report; the shapes and their meaning stand in `protocol/monitor.ts`. */
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
  page,
  PageQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { present } from '../builds/view.ts'
import type { Actor } from '../identity/actor.ts'
import { greetMonitor, listShownMonitors, removeMonitor, takeObjects, toClusterObject } from '../monitor/monitor.ts'
import { listObjects } from '../store/cluster-objects.ts'
import { done, ok, route, type Route } from './route.ts'

const ByCluster = z.object({ cluster: Name })
const Filter = PageQuery.extend({
  cursor: z.string().min(1).max(600).optional(),
  kind: MonitoredKind.optional(),
  namespace: z.string().max(63).optional(),
})

const Cursor = z.tuple([MonitoredKind, z.string(), z.string()])

function readCursor(text: string): { kind: MonitoredKind; namespace: string; name: string } {
  const parsed = Cursor.safeParse(text.split('/'))
  if (!parsed.success) throw fault('request-invalid', { message: 'cursor: not one of this list' })
  const [kind, namespace, name] = parsed.data
  return { kind, namespace, name }
}

function agentOf(actor: Actor): string {
  if (actor.kind !== 'agent') throw fault('forbidden')
  return actor.id
}

export function monitorRoutes(app: App): Route[] {
  return [...reportRoutes(app), ...lookRoutes(app)]
}

function reportRoutes(app: App): Route[] {
  return [
    route('POST', '/v1/monitor/hello', {
      summary: 'Introduce a monitor process',
      allow: 'agent',
      body: MonitorHello,
      replies: { 200: MonitorWelcome },
      handle: async ({ body, actor }) => ok(await greetMonitor(app, agentOf(actor), body)),
    }),
    route('POST', '/v1/monitor/objects', {
      summary: 'Report what changed in a cluster',
      allow: 'agent',
      body: ObjectBatch,
      replies: { 200: ObjectAck },
      handle: async ({ body, actor }) => ok(await takeObjects(app, agentOf(actor), body)),
    }),
  ]
}

function lookRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/monitors', {
      summary: 'List the clusters that are reported',
      allow: 'viewer',
      replies: { 200: page(Monitor) },
      handle: async () => ok({ items: await listShownMonitors(app) }),
    }),
    route('DELETE', '/v1/monitors/{cluster}', {
      summary: 'Forget what was reported of a cluster',
      allow: 'admin',
      params: ByCluster,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeMonitor(app, params.cluster)
        return done
      },
    }),
    route('GET', '/v1/monitors/{cluster}/objects', {
      summary: 'List what runs in a cluster',
      allow: 'viewer',
      params: ByCluster,
      query: Filter,
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
