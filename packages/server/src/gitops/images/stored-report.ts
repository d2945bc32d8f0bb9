/** What a row of a report has, besides what the server looks for. */
import { ImageReport } from '@windlass/protocol'
import { parseJson } from '@windlass/kit/json'
import { z } from 'zod'
import type { ImageReportRow } from '../../store/schema/schema.ts'

export const ReportFacts = ImageReport.pick({
  workflow: true,
  sizeBytes: true,
  platforms: true,
  builtAt: true,
  git: true,
  issues: true,
  runtime: true,
  build: true,
  by: true,
})
export type ReportFacts = z.infer<typeof ReportFacts>

const Tags = z.array(z.string())

/** Returns the tags of a row. */
export function tagsOf({ tags }: Pick<ImageReportRow, 'tags'>): string[] {
  return Tags.parse(parseJson(tags))
}

/** Converts a report for the API. */
export function toReport(row: ImageReportRow): ImageReport {
  const tags = tagsOf(row)
  return {
    ...ReportFacts.parse(parseJson(row.facts)),
    id: row.id,
    image: row.name,
    digest: row.digest,
    ...(tags.length > 0 && { tags }),
    createdAt: row.created_at,
    reportedAt: row.reported_at,
  }
}
