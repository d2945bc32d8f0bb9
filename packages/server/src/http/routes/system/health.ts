/** Routes of the health of the server and its runtimes, for people. `/healthz` and `/readyz` are for probes. */
import { Health, RuntimeActivity, ServerHealth, SystemState } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { readRuntimeHealth, readServerHealth } from '../../../health/read-health.ts'
import { readSystemState } from '../../../health/system-state.ts'
import { readRuntimeAccess, requireRuntimeAccess } from '../../../runtimes/access.ts'
import { readActivity } from '../../../runtimes/activity.ts'
import { listShownRuntimes, showRuntime } from '../../../runtimes/show-runtimes.ts'
import { findRuntime } from '../../../store/runtimes/runtimes.ts'
import { ByName } from '../pipelines/pipeline.ts'
import { ok, route, type Route } from '../../route.ts'

export function systemHealthRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/health', {
      summary: 'Show the health of the server and its runtimes in a sentence, with findings and hints',
      allow: 'see-runners',
      scope: 'runtime:read',
      replies: { 200: ServerHealth },
      async handle({ actor }) {
        const access = await readRuntimeAccess(app, app.store.query, actor)
        return ok(await readServerHealth(app, await listShownRuntimes(app, access)))
      },
    }),
    route('GET', '/v1/system', {
      summary: 'Show the state of the server: replicas, versions, sizes, retention, load and a forecast of the disk',
      allow: 'see-account',
      scope: 'account:read',
      replies: { 200: SystemState },
      handle: async () => ok(await readSystemState(app)),
    }),
    route('GET', '/v1/runtimes/{name}/activity', {
      summary: 'Show the builds and warm pairs of a runtime environment, and its load in the last 24 hours',
      allow: 'see-runners',
      scope: 'build:read',
      params: ByName,
      replies: { 200: RuntimeActivity },
      async handle({ params, actor }) {
        await requireRuntimeAccess(app, actor, params.name)
        return ok(await readActivity(app, params.name))
      },
    }),
    route('GET', '/v1/health/runtimes/{name}', {
      summary: 'Show the health of a runtime environment in a sentence, with findings and hints',
      allow: 'see-runners',
      scope: 'runtime:read',
      params: ByName,
      replies: { 200: Health },
      async handle({ params, actor }) {
        await requireRuntimeAccess(app, actor, params.name)
        const row = requireFound(await findRuntime(app.store.query, app.accountId, params.name), `runtime "${params.name}"`)
        const [health] = await readRuntimeHealth(app, [await showRuntime(app, row)])
        return ok(health)
      },
    }),
  ]
}
