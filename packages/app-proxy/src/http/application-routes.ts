/** Routes of the applications of Argo CD in the namespace of the runtime. */
import {
  ApplicationName,
  ApplicationRemoval,
  EventQuery,
  ContainerLogQuery,
  RefreshInput,
  ResourceKey,
  RollbackInput,
  SyncInput,
} from '@windlass/protocol'
import { z } from 'zod'
import type { ArgoApi } from '../argo/api.ts'
import type { Applications } from '../argo/applications.ts'
import { noteSubject } from '../audit/call.ts'
import { withNamespace } from './namespaced.ts'
import { noArgoCd } from './no-argo-cd.ts'
import { rolloutRoutes, type RolloutParts } from './rollout-routes.ts'
import { route, type Route } from './route.ts'

export interface ApplicationParts extends RolloutParts {
  readonly applications: Applications
  /** Undefined if the app-proxy does not know the server of Argo CD. */
  readonly argo: ArgoApi | undefined
  /** Of the applications. */
  readonly namespace: string
}

/** A thousand selected objects. */
const MAX_SYNC_BYTES = 262_144

const ByName = z.object({ name: ApplicationName })

export function applicationRoutes({ namespace, ...parts }: ApplicationParts): Route[] {
  const own = [...operationRoutes(parts), ...objectRoutes(parts), ...rolloutRoutes(parts)]
  return [
    route('GET', '/applications', {
      right: 'see-gitops',
      handle: async () => ({ items: await parts.applications.list() }),
    }),
    ...own,
    ...own.map((one) => withNamespace(one, { namespace, objects: 'applications', owner: 'Argo CD' })),
  ]
}

/** Routes of applications and the operations on them. */
function operationRoutes({ applications }: Pick<ApplicationParts, 'applications'>): Route[] {
  return [
    route('GET', '/applications/{name}', {
      right: 'see-gitops',
      params: ByName,
      handle: ({ params }) => applications.get(params.name),
    }),
    route('DELETE', '/applications/{name}', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      query: ApplicationRemoval,
      handle: ({ params, query }) => applications.remove(params.name, query.cascade),
    }),
    route('POST', '/applications/{name}/sync', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      body: SyncInput,
      maxBodyBytes: MAX_SYNC_BYTES,
      handle: (call) => applications.sync(call, call.params.name, call.body),
    }),
    route('POST', '/applications/{name}/rollback', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      body: RollbackInput,
      handle: (call) => applications.rollback(call, call.params.name, call.body),
    }),
    route('POST', '/applications/{name}/refresh', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      body: RefreshInput,
      handle: (call) => applications.refresh(call, call.params.name, call.body),
    }),
    route('POST', '/applications/{name}/terminate', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      handle: ({ params }) => applications.terminate(params.name),
    }),
  ]
}

/** Routes of the objects of applications. */
function objectRoutes({ argo }: Pick<ApplicationParts, 'argo'>): Route[] {
  /** Throws `not-supported`. */
  const api = (): ArgoApi => {
    if (argo !== undefined) return argo
    throw noArgoCd()
  }
  return [
    route('GET', '/applications/{name}/tree', {
      right: 'see-gitops',
      params: ByName,
      handle: async ({ params }) => ({ items: await api().tree(params.name) }),
    }),
    route('GET', '/applications/{name}/diff', {
      right: 'see-gitops',
      params: ByName,
      handle: async ({ params }) => ({ items: await api().differences(params.name) }),
    }),
    route('GET', '/applications/{name}/logs', {
      right: 'see-gitops',
      params: ByName,
      query: ContainerLogQuery,
      handle: ({ params, query }) => api().logs(params.name, query),
    }),
    route('GET', '/applications/{name}/resource', {
      right: 'see-gitops',
      params: ByName,
      query: ResourceKey,
      handle: ({ params, query }) => api().resource(params.name, query),
    }),
    route('GET', '/applications/{name}/events', {
      right: 'see-gitops',
      params: ByName,
      query: EventQuery,
      handle: async ({ params, query }) => ({ items: await api().events(params.name, query) }),
    }),
    route('POST', '/applications/{name}/delete-resource', {
      right: 'change-gitops',
      isWrite: true,
      params: ByName,
      body: ResourceKey,
      async handle({ params, body }) {
        noteSubject(`${body.kind} ${[body.namespace, body.name].filter((part) => part !== '').join('/')}`)
        await api().removeResource(params.name, body)
        return undefined
      },
    }),
  ]
}
