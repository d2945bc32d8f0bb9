/** Runtime environments: their layers, versions and the default one. */
import {
  page,
  Runtime,
  RuntimeChange,
  RuntimeDiff,
  RuntimeDiffQuery,
  RuntimeImages,
  RuntimeInput,
  RuntimeQuery,
  RuntimeRemoval,
  RuntimeVersion,
} from '@windlass/protocol'
import type { App } from '../app.ts'
import { requireFound } from '../builds/require-found.ts'
import { readSpec } from '../builds/limits.ts'
import { isAllowed } from '../identity/actor.ts'
import { hideGenerated } from '../runtimes/hidden.ts'
import { etag, listShownRuntimes, makeDefault, putRuntime, removeRuntime } from '../runtimes/runtimes.ts'
import { diffVersions, listVersions, showVersion } from '../runtimes/versions.ts'
import { findRuntime } from '../store/runtimes.ts'
import { nameOf } from './build-routes.ts'
import { ByName } from './pipeline-routes.ts'
import { created, done, ok, route, type Route } from './route.ts'

export function runtimeRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/runtimes', {
      summary: 'List runtime environments',
      allow: 'viewer',
      replies: { 200: page(Runtime) },
      handle: async () => ok({ items: await listShownRuntimes(app) }),
    }),
    route('POST', '/v1/runtimes', {
      summary: 'Create a runtime environment',
      allow: 'admin',
      body: RuntimeInput,
      replies: { 201: Runtime },
      async handle({ body, actor }) {
        const { runtime } = await putRuntime(app, { input: body, ifNoneMatch: '*', changedBy: nameOf(actor) })
        return created(runtime, { etag: etag(runtime) })
      },
    }),
    ...oneRuntimeRoutes(app),
    ...versionRoutes(app),
  ]
}

function oneRuntimeRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/runtimes/{name}', {
      summary: 'Show a runtime environment, or an older version of it; merged: with all that it extends',
      allow: 'viewer',
      params: ByName,
      query: RuntimeQuery,
      replies: { 200: Runtime },
      async handle({ params, query, actor }) {
        const runtime = await showVersion(app, params.name, query)
        const spec = query.merged === true && !isAllowed(actor, 'admin') ? hideGenerated(runtime.spec) : runtime.spec
        return ok({ ...runtime, spec }, { etag: etag(runtime) })
      },
    }),
    route('PUT', '/v1/runtimes/{name}', {
      summary: 'Create or replace a runtime environment; If-Match and If-None-Match guard against others',
      allow: 'admin',
      params: ByName,
      query: RuntimeChange,
      body: RuntimeInput,
      replies: { 200: Runtime, 201: Runtime },
      async handle({ params, query, body, headers, actor }) {
        const { runtime, isNew } = await putRuntime(app, {
          name: params.name,
          input: body,
          ifMatch: headers['if-match'],
          ifNoneMatch: headers['if-none-match'],
          changedBy: nameOf(actor),
          description: query.description,
        })
        return isNew ? created(runtime, { etag: etag(runtime) }) : ok(runtime, { etag: etag(runtime) })
      },
    }),
    route('DELETE', '/v1/runtimes/{name}', {
      summary: 'Delete a runtime environment that runs nothing; force: also the default one',
      allow: 'admin',
      params: ByName,
      query: RuntimeRemoval,
      replies: { 204: 'nothing' },
      async handle({ params, query }) {
        await removeRuntime(app, params.name, query)
        return done
      },
    }),
    route('POST', '/v1/runtimes/{name}/default', {
      summary: 'Make it the runtime of pipelines that name none',
      allow: 'admin',
      params: ByName,
      replies: { 200: Runtime },
      handle: async ({ params }) => ok(await makeDefault(app, params.name)),
    }),
  ]
}

function versionRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/runtimes/{name}/versions', {
      summary: 'List the versions of a runtime environment, newest first',
      allow: 'viewer',
      params: ByName,
      replies: { 200: page(RuntimeVersion) },
      handle: async ({ params }) => ok({ items: await listVersions(app, params.name) }),
    }),
    route('GET', '/v1/runtimes/{name}/diff', {
      summary: 'What is different between two versions of a runtime environment',
      allow: 'viewer',
      params: ByName,
      query: RuntimeDiffQuery,
      replies: { 200: RuntimeDiff },
      handle: async ({ params, query }) => ok(await diffVersions(app, params.name, query)),
    }),
    route('GET', '/v1/runtimes/{name}/images', {
      summary: 'The images that builds of a runtime environment are made of',
      allow: 'viewer',
      params: ByName,
      replies: { 200: RuntimeImages },
      async handle({ params }) {
        const row = requireFound(await findRuntime(app.store.query, app.accountId, params.name), `runtime ${params.name}`)
        return ok({ items: imagesOf(readSpec(row)) })
      },
    }),
  ]
}

/** Component -> image. */
export function imagesOf(spec: ReturnType<typeof readSpec>): { component: string; image: string }[] {
  return [
    { component: 'engine', image: spec.runtimeScheduler.image },
    { component: 'dind', image: spec.dockerDaemonScheduler.dindImage },
  ]
}
