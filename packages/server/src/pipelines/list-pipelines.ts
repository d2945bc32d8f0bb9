/** Lists of pipelines, with their last builds. */
import { fault } from '@windlass/kit'
import { SHOWN_BUILDS, type Pipeline, type PipelineActivity, type PipelineQuery } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { present } from '../builds/lifecycle/present.ts'
import { countTriggers, listNewestBuilds, type ShownBuild } from '../store/pipelines/pipeline-activity.ts'
import { listPipelines, listPipelinesByBuild, type BuiltPlace } from '../store/pipelines/pipelines.ts'
import { findProject } from '../store/pipelines/projects.ts'
import type { Places } from '../store/places.ts'
import type { PipelineRow } from '../store/schema/schema.ts'
import { showPipelines } from './pipelines.ts'

/** A page of pipelines. */
export interface PipelinePage {
  readonly items: Pipeline[]
  readonly next?: string
}

/** Lists pipelines as far as the caller may see them; `seen` is undefined for all. Throws `request-invalid` for an unknown cursor. */
export async function listPipelinePage(
  app: App,
  query: z.output<typeof PipelineQuery>,
  seen: Places | undefined,
): Promise<PipelinePage> {
  const project = query.project === undefined ? undefined : await findProject(app.store.query, app.accountId, query.project)
  if (query.project !== undefined && project === undefined) return { items: [] }
  const filter = { accountId: app.accountId, limit: query.limit, text: query.q, places: seen, projectId: project?.id }
  const { rows, next } =
    query.order === 'name' ? await byName(app, filter, query.cursor) : await byBuild(app, filter, query.cursor)
  const items = [...(await showPipelines(app, rows))]
  return { items: query.activity ? await withActivity(app, items) : items, ...(rows.length === query.limit && { next }) }
}

type Filter = Omit<Parameters<typeof listPipelines>[1], 'after'>

interface Rows {
  readonly rows: PipelineRow[]
  readonly next: string
}

async function byName(app: App, filter: Filter, cursor: string | undefined): Promise<Rows> {
  const rows = await listPipelines(app.store.query, { ...filter, after: cursor })
  return { rows, next: rows.at(-1)?.name ?? '' }
}

async function byBuild(app: App, filter: Filter, cursor: string | undefined): Promise<Rows> {
  const rows = await listPipelinesByBuild(app.store.query, {
    ...filter,
    after: cursor === undefined ? undefined : readPlace(cursor),
  })
  const last = rows.at(-1)
  return { rows, next: last === undefined ? '' : `${last.lastNumber}:${last.name}` }
}

function readPlace(cursor: string): BuiltPlace {
  const [, number, name] = /^(\d{1,15}):(.+)$/.exec(cursor) ?? []
  if (number === undefined || name === undefined)
    throw fault('request-invalid', { message: 'cursor: must be the `next` of an earlier answer with the same order' })
  return { lastNumber: Number(number), name }
}

async function withActivity(app: App, pipelines: readonly Pipeline[]): Promise<Pipeline[]> {
  const { query } = app.store
  const pipelineIds = pipelines.map(({ id }) => id)
  const builds = await listNewestBuilds(query, { accountId: app.accountId, pipelineIds, count: SHOWN_BUILDS })
  const triggers = await countTriggers(query, pipelineIds)
  return pipelines.map((pipeline) => ({
    ...pipeline,
    activity: { builds: (builds.get(pipeline.id) ?? []).map(toShown), triggers: triggers.get(pipeline.id) ?? 0 },
  }))
}

function toShown({ id, number, status, branch, ...times }: ShownBuild): PipelineActivity['builds'][number] {
  const { started_at: startedAt, finished_at: finishedAt, paused_ms: paused } = times
  const durationMs = startedAt === null || finishedAt === null ? null : Math.max(0, finishedAt - startedAt - paused)
  return { id, number, status, ...present({ branch, startedAt, durationMs }) }
}
