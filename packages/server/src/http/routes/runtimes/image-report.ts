/** Routes of reports of images. The shapes are documented in `protocol/gitops`. */
import {
  ApplicationImage,
  Id,
  ImageReport,
  ImageReportInput,
  ImageReportQuery,
  MAX_IMAGE_REPORT_BYTES,
  page,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { listApplicationImages, listReportPage, showReport } from '../../../gitops/images/show-reports.ts'
import { takeImageReport } from '../../../gitops/images/take-report.ts'
import { ok, route, type Route } from '../../route.ts'

const ById = z.object({ id: Id })
const ByApplication = z.object({ id: z.string().min(1).max(400) })

/** Calls of one caller at once. A page can be megabytes, and each report is a transaction. */
const CALLS_AT_ONCE = 8

export function imageReportRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/image-reports', {
      summary: 'List reports of images with their commits and issues, newest first',
      allow: 'see-gitops',
      scope: 'gitops:read',
      query: ImageReportQuery,
      callsAtOnce: CALLS_AT_ONCE,
      replies: { 200: page(ImageReport) },
      handle: async ({ query }) => ok(await listReportPage(app, query)),
    }),
    route('GET', '/v1/image-reports/{id}', {
      summary: 'Show a report of an image',
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ById,
      replies: { 200: ImageReport },
      handle: async ({ params }) => ok(await showReport(app, params.id)),
    }),
    route('POST', '/v1/image-reports', {
      summary: 'Report an image with its commit and issues, with a token of a GitOps runtime or an API key',
      allow: 'image-reporter',
      scope: 'gitops:write',
      body: ImageReportInput,
      maxBodyBytes: MAX_IMAGE_REPORT_BYTES,
      callsAtOnce: CALLS_AT_ONCE,
      replies: { 200: ImageReport },
      handle: async ({ body, actor }) => ok(await takeImageReport(app, actor, body)),
    }),
    route('GET', '/v1/applications/{id}/images', {
      summary: 'List the images of an application, each with its newest report',
      allow: 'see-gitops',
      scope: 'gitops:read',
      params: ByApplication,
      replies: { 200: page(ApplicationImage) },
      handle: async ({ params }) => ok({ items: await listApplicationImages(app, params.id) }),
    }),
  ]
}
