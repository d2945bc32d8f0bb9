/** Reports of images as callers see them. */
import { defined, fault, isId } from '@windlass/kit'
import { parseImageReference, type ApplicationImage, type ImageReport, type ImageReportQuery } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { findImageReport, findLastReport, listImageReports } from '../../store/runtimes/image-reports.ts'
import { showApplication } from '../applications/show-applications.ts'
import { toReport } from './stored-report.ts'

/** Images of an application whose reports are looked for. */
const MAX_IMAGES = 100

/** Returns a page of reports, newest first. Throws `request-invalid` for a text that is not the name of an image. */
export async function listReportPage(
  { store, accountId }: App,
  { cursor, limit, image: text, commit: revision }: ImageReportQuery,
): Promise<{ readonly items: ImageReport[]; readonly next?: string }> {
  const image = text === undefined ? undefined : parseImageReference(text)
  if (text !== undefined && image === undefined)
    throw fault('request-invalid', {
      message: `image: "${text}" is not the name of an image.`,
      hint: 'Write it as registry.example.com/team/app, with a tag or a digest if you like.',
    })
  const rows = await listImageReports(store.query, { accountId, image, revision, before: cursor, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  return { items: shown.map(toReport), ...defined({ next: rows.length > limit ? shown.at(-1)?.id : undefined }) }
}

/** Throws `not-found`. */
export async function showReport({ store, accountId }: App, id: string): Promise<ImageReport> {
  const row = isId(id) ? await findImageReport(store.query, accountId, id) : undefined
  if (row !== undefined) return toReport(row)
  throw fault('not-found', {
    message: `The report "${id}" of an image does not exist.`,
    hint: 'List them with `windlass gitops image list`.',
  })
}

/** Returns the images of an application by its id or by RUNTIME/NAMESPACE/NAME, each with its newest report. Throws `not-found`. */
export async function listApplicationImages(app: App, name: string): Promise<ApplicationImage[]> {
  const { images } = await showApplication(app, name)
  return Promise.all(
    [...new Set(images)].slice(0, MAX_IMAGES).map(async (image) => {
      const reference = parseImageReference(image)
      const row = reference && (await findLastReport(app.store.query, app.accountId, reference))
      return { image, ...defined({ report: row && toReport(row) }) }
    }),
  )
}
