/** Routes of releases of products, and of the app-proxies that change Git for them. The shapes are documented in `protocol/gitops`. */
import { fault } from '@windlass/kit'
import {
  DefinitionName,
  ErrandAnswer,
  ErrandClaim,
  ErrandClaimAnswer,
  ErrandReport,
  Id,
  page,
  Release,
  ReleaseInput,
  ReleaseQuery,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { retryRelease, terminateRelease } from '../../../gitops/releases/change.ts'
import { claimRuntimeErrands, takeErrandResult } from '../../../gitops/releases/errands.ts'
import { requirePromoter } from '../../../gitops/releases/promoters.ts'
import { listReleasePage, showRelease } from '../../../gitops/releases/show-releases.ts'
import { startRelease } from '../../../gitops/releases/start.ts'
import { nameOf, type Actor } from '../../../identity/actor.ts'
import { created, ok, route, type Route } from '../../route.ts'

const ById = z.object({ id: Id })
const ByProduct = z.object({ name: DefinitionName })

function runtimeOf(actor: Actor): string {
  if (actor.kind !== 'gitops-runtime') throw fault('forbidden')
  return actor.runtimeId
}

export function releaseRoutes(app: App): Route[] {
  return [
    route('POST', '/v1/products/{name}/releases', {
      summary: 'Start a release of a product: promote its applications by a flow, or from one environment to another',
      allow: 'promote',
      scope: 'gitops:write',
      params: ByProduct,
      body: ReleaseInput,
      replies: { 201: Release },
      async handle({ params, body, actor, settle }) {
        const start = { product: params.name, input: body, by: nameOf(actor) }
        const release = await startRelease(app, start, async (tx, { release: value, ended }) => {
          // Who may not terminate a release must not end it by a newer one.
          for (const { steps } of [value, ...ended]) await requirePromoter(app, tx.query, actor, steps)
          await settle(tx, created(value))
        })
        return created(release)
      },
    }),
    route('GET', '/v1/releases', {
      summary: 'List releases of products, newest first',
      allow: 'see-gitops',
      scope: 'gitops:read',
      query: ReleaseQuery,
      replies: { 200: page(Release) },
      handle: async ({ query }) => ok(await listReleasePage(app, query)),
    }),
    route('GET', '/v1/releases/{id}', {
      summary: 'Show a release with its steps and promotions',
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ById,
      replies: { 200: Release },
      handle: async ({ params }) => ok(await showRelease(app, params.id)),
    }),
    route('POST', '/v1/releases/{id}/terminate', {
      summary: 'Terminate a release; commits stay, and pull requests stay open',
      allow: 'promote',
      scope: 'gitops:write',
      params: ById,
      replies: { 200: Release },
      async handle({ params, actor }) {
        await requirePromoter(app, app.store.query, actor, (await showRelease(app, params.id)).steps)
        return ok(await terminateRelease(app, params.id, nameOf(actor)))
      },
    }),
    route('POST', '/v1/releases/{id}/retry', {
      summary: 'Try the promotions of a release again that have failed or were terminated',
      allow: 'promote',
      scope: 'gitops:write',
      params: ById,
      replies: { 200: Release },
      async handle({ params, actor }) {
        await requirePromoter(app, app.store.query, actor, (await showRelease(app, params.id)).steps)
        return ok(await retryRelease(app, params.id))
      },
    }),
    route('POST', '/v1/errands/claim', {
      summary: 'Wait for changes in Git that releases need, with a token of a GitOps runtime',
      allow: 'gitops-runtime',
      scope: 'none',
      unaudited: 'asks for work, again and again',
      body: ErrandClaim,
      replies: { 200: ErrandClaimAnswer },
      isHeld: true,
      handle: async ({ body, actor, signal }) =>
        ok({ errands: await claimRuntimeErrands(app, runtimeOf(actor), { ...body, signal }) }),
    }),
    route('POST', '/v1/errands/{id}/report', {
      summary: 'Report the result of an errand, with a token of a GitOps runtime',
      allow: 'gitops-runtime',
      scope: 'none',
      unaudited: 'the commit names the release, whose start has a record',
      params: ById,
      body: ErrandReport,
      replies: { 200: ErrandAnswer },
      handle: async ({ params, body, actor }) =>
        ok({ isTaken: await takeErrandResult(app, runtimeOf(actor), { id: params.id, result: body.result }) }),
    }),
  ]
}
