/** Routes of the status of GitOps runtimes and their clusters: what app-proxies report, and what callers see. The shapes are documented in `protocol/gitops`. */
import { fault } from '@windlass/kit'
import { ClusterReport, page, ReportedCluster, ReportedClusterQuery, RuntimeReport, RuntimeStatus } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { listClusterPage } from '../../../gitops/status/show-clusters.ts'
import { listShownStatuses, showStatus } from '../../../gitops/status/show-status.ts'
import { takeClusterReport, takeRuntimeReport } from '../../../gitops/status/take-report.ts'
import type { Actor } from '../../../identity/actor.ts'
import { done, ok, route, type Route } from '../../route.ts'

const ByRuntime = z.object({ runtime: z.string().min(1).max(100) })
/** A chunk of clusters with long messages. */
const MAX_CHUNK_BYTES = 4_194_304

function runtimeOf(actor: Actor): string {
  if (actor.kind !== 'gitops-runtime') throw fault('forbidden')
  return actor.runtimeId
}

export function gitopsStatusRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/gitops-status', {
      summary: 'List what works and what is broken in each GitOps runtime, by name',
      allow: 'see-gitops',
      scope: 'gitops:read',
      replies: { 200: page(RuntimeStatus) },
      handle: async () => ok({ items: await listShownStatuses(app) }),
    }),
    route('GET', '/v1/gitops-status/{runtime}', {
      summary: 'Show what works and what is broken in a GitOps runtime, part by part',
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ByRuntime,
      replies: { 200: RuntimeStatus },
      handle: async ({ params }) => ok(await showStatus(app, params.runtime)),
    }),
    route('PUT', '/v1/gitops-status', {
      summary: 'Say what works and what is broken in a GitOps runtime, with a token of the runtime; its app-proxy calls this',
      allow: 'gitops-runtime',
      scope: 'none',
      unaudited: 'reports the state of what runs elsewhere, again and again',
      body: RuntimeReport,
      replies: { 204: 'nothing' },
      async handle({ body, actor }) {
        await takeRuntimeReport(app, runtimeOf(actor), body)
        return done
      },
    }),
    route('GET', '/v1/gitops-clusters', {
      summary: 'List the clusters that the Argo CD of each GitOps runtime knows, as it last reached them',
      allow: 'see-gitops',
      scope: 'gitops:read',
      query: ReportedClusterQuery,
      replies: { 200: page(ReportedCluster) },
      handle: async ({ query }) => ok(await listClusterPage(app, query)),
    }),
    route('PUT', '/v1/gitops-clusters', {
      summary: 'Report a chunk of the clusters that Argo CD knows, with a token of the runtime; its app-proxy calls this',
      allow: 'gitops-runtime',
      scope: 'none',
      unaudited: 'reports the state of what runs elsewhere, again and again',
      body: ClusterReport,
      maxBodyBytes: MAX_CHUNK_BYTES,
      replies: { 204: 'nothing' },
      async handle({ body, actor }) {
        await takeClusterReport(app, runtimeOf(actor), body)
        return done
      },
    }),
  ]
}
