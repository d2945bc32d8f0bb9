/** Lists of builds as callers see them, and counts of their values. */
import type { Build, BuildCounts, BuildCountsQuery, BuildFilterQuery, BuildQuery } from '@windlass/protocol'
import type { z } from 'zod'
import { storedForms, valueOf } from '../../annotations/annotations.ts'
import type { App } from '../../app.ts'
import { foreignCursor } from '../../store/cursor.ts'
import { findPipeline } from '../../store/pipelines/pipelines.ts'
import { findProject } from '../../store/pipelines/projects.ts'
import { listDisplayed } from '../../store/builds/annotations.ts'
import type { BuildFilter, PipelineChoice } from '../../store/builds/lists/build-filter.ts'
import { countBuildsBy, listBuilds } from '../../store/builds/lists/build-lists.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import { present } from '../lifecycle/present.ts'
import { heldWait, shownProgress } from '../lifecycle/describe-steps.ts'
import { toBuild } from '../lifecycle/view.ts'
import { readListedSteps } from './listed-steps.ts'
import { readRecentUsualTimes } from './usual-times.ts'
import { explainWaits } from './waits.ts'
import type { Places } from '../../store/places.ts'

/** Where the caller may see builds; everywhere if undefined. */
export type Seen = Places | undefined

/** Returns a page of builds, newest first. Throws `request-invalid` for a cursor of another list. */
export async function listBuildPage(
  app: App,
  { cursor, limit, ...filter }: z.output<typeof BuildQuery>,
  seen: Seen,
): Promise<{ readonly items: Build[]; readonly next?: string }> {
  const before = cursor === undefined ? undefined : Number(cursor)
  if (before !== undefined && !Number.isSafeInteger(before)) throw foreignCursor()
  const { rows, next } = await listBuilds(app.store.query, await toFilter(app, filter, seen), { before, limit })
  return { items: await toItems(app, rows, seen), ...present({ next: next?.toString() }) }
}

/** Counts builds by one of their values. */
export async function countBuilds(
  app: App,
  { by, ...filter }: z.output<typeof BuildCountsQuery>,
  seen: Seen,
): Promise<BuildCounts> {
  const { counts, isExact } = await countBuildsBy(app.store.query, await toFilter(app, filter, seen), by)
  return { items: [...counts], isExact }
}

async function toFilter(app: App, query: z.output<typeof BuildFilterQuery>, seen: Seen): Promise<BuildFilter> {
  const { status, number, revision, from, to } = query
  const text = query.q?.trim() ?? ''
  const asked = /^#(\d{1,15})$/.exec(text)?.[1]
  return {
    accountId: app.accountId,
    status,
    number: number ?? (asked === undefined ? undefined : Number(asked)),
    revision: revision !== undefined && /^[0-9a-f]+$/i.test(revision) ? revision.toLowerCase() : revision,
    from,
    to,
    text: text === '' || asked !== undefined ? undefined : text,
    places: seen,
    projectIds: query.project && (await findProjectIds(app, query.project)),
    pipelines: query.pipeline && (await Promise.all(query.pipeline.map((name) => choosePipeline(app, name)))),
    branches: query.branch,
    initiators: query.initiator,
    triggers: query.trigger,
    runtimes: query.runtime,
    reasons: query.reason,
    annotations: query.annotation?.map(readAnnotationFilter),
  }
}

async function findProjectIds(app: App, names: readonly string[]): Promise<string[]> {
  const found = await Promise.all(names.map((name) => findProject(app.store.query, app.accountId, name)))
  return found.flatMap((project) => (project === undefined ? [] : [project.id]))
}

async function choosePipeline(app: App, name: string): Promise<PipelineChoice> {
  const pipeline = await findPipeline(app.store.query, app.accountId, name)
  return pipeline === undefined ? { name } : { id: pipeline.id }
}

function readAnnotationFilter(text: string): { name: string; values: string[] } {
  const at = text.indexOf('=')
  return at < 0 ? { name: text, values: [] } : { name: text.slice(0, at), values: storedForms(text.slice(at + 1)) }
}

/** Converts builds to their list form: with the displayed annotation, the progress, the step to blame, the usual time and what it waits for. */
export async function toItems(app: App, rows: readonly BuildRow[], seen: Seen): Promise<Build[]> {
  const ids = rows.map(({ id }) => id)
  const displayed = await listDisplayed(app.store.query, ids)
  const shown = new Map(displayed.map((row) => [row.entity_id, { name: row.name, value: valueOf(row) }]))
  const steps = await readListedSteps(app, rows)
  const waits = await explainWaits(app, rows, seen)
  const usual = await readRecentUsualTimes(
    app,
    rows.flatMap((row) => (isUnderWay(row) && row.pipeline_id !== null ? [row.pipeline_id] : [])),
  )
  return rows.map((row) => {
    const { progress, ...blame } = steps.get(row.id) ?? {}
    return {
      ...toBuild(row, shown.get(row.id)),
      ...blame,
      ...present({
        progress: progress && shownProgress(row, progress),
        waiting: waits.get(row.id) ?? (progress && heldWait(row, progress)),
        usualMs: isUnderWay(row) ? usual.get(row.pipeline_id ?? '') : undefined,
      }),
    }
  })
}

function isUnderWay({ status }: BuildRow): boolean {
  return status === 'running' || status === 'elected'
}
