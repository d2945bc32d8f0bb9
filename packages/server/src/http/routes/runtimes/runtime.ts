/** Routes of runtime environments: layers, versions and the default. */
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
import type { App } from '../../../app.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { readSpec } from '../../../builds/schedule/limits.ts'
import { withHealth } from '../../../health/read-health.ts'
import { isAllowed, nameOf } from '../../../identity/actor.ts'
import { hideMergedFields } from '../../../runtimes/operator-fields.ts'
import { readRuntimeAccess, requireRuntimeAccess } from '../../../runtimes/access.ts'
import { etag, makeDefault, putRuntime, removeRuntime } from '../../../runtimes/runtimes.ts'
import { listShownRuntimes } from '../../../runtimes/show-runtimes.ts'
import { diffVersions, listVersions, showVersion } from '../../../runtimes/versions.ts'
import { findRuntime } from '../../../store/runtimes/runtimes.ts'
import { ByName } from '../pipelines/pipeline.ts'
import { created, done, ok, route, type Answer, type Route } from '../../route.ts'

export function runtimeRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/runtimes', {
      summary: 'List runtime environments',
      allow: 'see-runners',
      scope: 'runtime:read',
      replies: { 200: page(Runtime) },
      async handle({ actor }) {
        const access = await readRuntimeAccess(app, app.store.query, actor)
        return ok({ items: await withHealth(app, await listShownRuntimes(app, access)) })
      },
    }),
    route('POST', '/v1/runtimes', {
      summary: 'Create a runtime environment',
      allow: 'manage-runners',
      scope: 'runtime:write',
      body: RuntimeInput,
      replies: { 201: Runtime },
      async handle({ body, actor, settle }) {
        const put = { input: body, ifNoneMatch: '*', changedBy: nameOf(actor) }
        const answer = (runtime: Runtime): Answer => created(runtime, { etag: etag(runtime) })
        return answer((await putRuntime(app, put, (tx, runtime) => settle(tx, answer(runtime)))).runtime)
      },
    }),
    ...oneRuntimeRoutes(app),
    ...versionRoutes(app),
  ]
}

function oneRuntimeRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/runtimes/{name}', {
      summary: 'Show a runtime environment or an older version of it; merged: including everything that it extends',
      allow: 'see-runners',
      scope: 'runtime:read',
      params: ByName,
      query: RuntimeQuery,
      replies: { 200: Runtime },
      async handle({ params, query, actor }) {
        await requireRuntimeAccess(app, actor, params.name)
        const runtime = await showVersion(app, params.name, query)
        const isHidden = query.merged === true && !isAllowed(actor, 'manage-runners')
        const [shown] = await withHealth(app, [isHidden ? hideMergedFields(runtime) : runtime])
        return ok(shown, { etag: etag(runtime) })
      },
    }),
    route('PUT', '/v1/runtimes/{name}', {
      summary: 'Create or replace a runtime environment; If-Match and If-None-Match protect against concurrent changes',
      allow: 'manage-runners',
      scope: 'runtime:write',
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
      summary:
        'Delete a runtime environment without running builds; force: also the default one, and one with unconfirmed lost attempts',
      allow: 'manage-runners',
      scope: 'runtime:write',
      params: ByName,
      query: RuntimeRemoval,
      replies: { 204: 'nothing' },
      async handle({ params, query, actor }) {
        await removeRuntime(app, params.name, { ...query, by: nameOf(actor) })
        return done
      },
    }),
    route('POST', '/v1/runtimes/{name}/default', {
      summary: 'Make it the default runtime environment',
      allow: 'manage-runners',
      scope: 'runtime:write',
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
      allow: 'see-runners',
      scope: 'runtime:read',
      params: ByName,
      replies: { 200: page(RuntimeVersion) },
      async handle({ params, actor }) {
        await requireRuntimeAccess(app, actor, params.name)
        return ok({ items: await listVersions(app, params.name) })
      },
    }),
    route('GET', '/v1/runtimes/{name}/diff', {
      summary: 'Compare two versions of a runtime environment',
      allow: 'see-runners',
      scope: 'runtime:read',
      params: ByName,
      query: RuntimeDiffQuery,
      replies: { 200: RuntimeDiff },
      async handle({ params, query, actor }) {
        await requireRuntimeAccess(app, actor, params.name)
        const hidesOperatorFields = !isAllowed(actor, 'manage-runners')
        return ok(await diffVersions(app, params.name, { ...query, hidesOperatorFields }))
      },
    }),
    route('GET', '/v1/runtimes/{name}/images', {
      summary: 'List the images that a runtime environment uses for builds',
      allow: 'see-runners',
      scope: 'runtime:read',
      params: ByName,
      replies: { 200: RuntimeImages },
      async handle({ params, actor }) {
        await requireRuntimeAccess(app, actor, params.name)
        const row = requireFound(await findRuntime(app.store.query, app.accountId, params.name), `runtime "${params.name}"`)
        return ok({ items: imagesOf(readSpec(row)) })
      },
    }),
  ]
}

/** Lists the images of the build components. */
export function imagesOf(spec: ReturnType<typeof readSpec>): { component: string; image: string }[] {
  return [
    { component: 'engine', image: spec.runtimeScheduler.image },
    { component: 'dind', image: spec.dockerDaemonScheduler.dindImage },
  ]
}
