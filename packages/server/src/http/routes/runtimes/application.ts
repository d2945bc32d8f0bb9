/** Routes of applications of Argo CD, and of the reporters that report them. The shapes are documented in `protocol/gitops`. */
import { fault } from '@windlass/kit'
import {
  Application,
  ApplicationDetails,
  ApplicationQuery,
  EventsAnswer,
  MAX_EVENTS_BODY_BYTES,
  page,
  ReportedDeployment,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { listDeployments } from '../../../gitops/applications/deployments.ts'
import { EVENTS_PATH, readReport } from '../../../gitops/applications/read-events.ts'
import { listApplicationPage, showApplication } from '../../../gitops/applications/show-applications.ts'
import { takeEventReport } from '../../../gitops/applications/take-report.ts'
import { ok, route, type Route } from '../../route.ts'

/** The id, or RUNTIME/NAMESPACE/NAME with encoded slashes. */
const ById = z.object({ id: z.string().min(1).max(400) })
/** Concurrent reports of one token, which the reporters of a runtime share. */
const REPORTS_AT_ONCE = 8

export function applicationRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/applications', {
      summary: 'List the applications of GitOps runtimes, by name, by health or by the last change',
      allow: 'see-gitops',
      scope: 'gitops:read',
      query: ApplicationQuery,
      replies: { 200: page(Application) },
      handle: async ({ query }) => ok(await listApplicationPage(app, query)),
    }),
    route('GET', '/v1/applications/{id}', {
      summary: 'Show an application with its resources',
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ById,
      replies: { 200: ApplicationDetails },
      handle: async ({ params }) => ok(await showApplication(app, params.id)),
    }),
    route('GET', '/v1/applications/{id}/deployments', {
      summary: 'List the last deployments of an application with their health, newest first',
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ById,
      replies: { 200: page(ReportedDeployment) },
      handle: async ({ params }) => ok({ items: await listDeployments(app, params.id) }),
    }),
    route('POST', EVENTS_PATH, {
      summary: 'Report applications of a GitOps runtime, with a token of the runtime; the body may be compressed with gzip',
      allow: 'gitops-runtime',
      scope: 'none',
      unaudited: 'reports what runs elsewhere, every few seconds',
      rawBody: ['application/json'],
      maxBodyBytes: MAX_EVENTS_BODY_BYTES,
      callsAtOnce: REPORTS_AT_ONCE,
      replies: { 200: EventsAnswer },
      async handle({ rawBody, headers, actor }) {
        if (actor.kind !== 'gitops-runtime') throw fault('forbidden')
        return ok(await takeEventReport(app, actor.runtimeId, await readReport(rawBody, headers['content-encoding'])))
      },
    }),
  ]
}
