/** Pipelines for public clients: their manifests, and the validation of documents. Encrypted values are always masked. */
import { fault, isFault } from '@windlass/kit'
import { formatLint } from '@windlass/pipeline'
import { Name, PipelineInput, type Pipeline } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { nameOf, placesOf, type Actor } from '../../../identity/actor.ts'
import { requireWrite } from '../../../pipelines/pipeline-use.ts'
import { createPipeline, putPipeline, removePipeline, showPipeline, showPipelines } from '../../../pipelines/pipelines.ts'
import { validateDocument } from '../../../pipelines/validate-document.ts'
import { readPipelineSettings } from '../../../pipelines/settings.ts'
import {
  findPipeline,
  listPipelineHeads,
  listPipelinesById,
  listPipelineSettings,
  type PipelineHead,
} from '../../../store/pipelines/pipelines.ts'
import { isWithin } from '../../../store/places.ts'
import type { PipelineRow } from '../../../store/schema/schema.ts'
import { done, ok, requireShape, route, type Answer, type Route } from '../../route.ts'
import { Document, fillPage, Page, PAGE_BYTES, Range, sliceOf, Texts } from '../documents.ts'
import { PipelineManifest, toPipelineDocument, toText } from './pipeline-manifest.ts'
import { toPublicPipeline, toPublicShape } from './public-pipeline.ts'

const ByName = z.object({ name: Name })
const Flag = z.stringbool().optional()
const reads = { allow: 'see-pipelines', scope: 'pipeline:read' } as const
const writes = { allow: 'change-pipelines', scope: 'pipeline:write' } as const

/** Also has a parameter `labels[NAME]` per label. */
const Listing = Range.extend({ id: Texts, projectId: z.string().max(300).optional() }).loose()

export function publicPipelineRoutes(app: App): Route[] {
  return [...readRoutes(app), ...writeRoutes(app), validatorRoute(app)]
}

function readRoutes(app: App): Route[] {
  const find = async (actor: Actor, { id, projectId, ...query }: z.output<typeof Listing>): Promise<PipelineHead[]> => {
    const places = placesOf(actor, 'see-pipelines')
    const labelled = await findLabelled(app, query)
    const heads = await listPipelineHeads(app.store.query, app.accountId)
    const found = heads.filter(
      (head) =>
        (projectId === undefined || head.project_id === projectId) &&
        labelled?.has(head.id) !== false &&
        isWithin(places, { project: head.project_id, pipeline: head.id }),
    )
    return id === undefined ? found : matching(found, [id].flat())
  }
  return [
    route('GET', '/api/pipelines', {
      summary: 'List pipelines with their documents, by name',
      ...reads,
      project: 'handler',
      query: Listing,
      readsDocument: true,
      replies: { 200: Page },
      async handle({ query, actor }) {
        const found = await find(actor, query)
        const ids = sliceOf(found, query).map((head) => head.id)
        const rows = await listPipelinesById(app.store.query, app.accountId, { ids, maxBytes: PAGE_BYTES })
        const docs = await fillPage(await showPipelines(app, rows), (pipeline) => toListedPipeline(app, pipeline))
        return ok({ docs, count: found.length })
      },
    }),
    route('GET', '/api/pipelines/names', {
      summary: 'List the names of pipelines',
      ...reads,
      project: 'handler',
      query: Listing,
      replies: { 200: z.array(z.object({ id: z.string(), name: z.string() })) },
      handle: async ({ query, actor }) => {
        const { limit, offset } = query
        return ok((await find(actor, query)).slice(offset, offset + limit).map(({ id, name }) => ({ id, name })))
      },
    }),
    route('GET', '/api/pipelines/{name}', {
      summary: 'Show a pipeline with its document',
      ...reads,
      project: 'pipeline',
      params: ByName,
      readsDocument: true,
      replies: { 200: Document },
      async handle({ params: { name } }) {
        const row = await findPipeline(app.store.query, app.accountId, name)
        if (row === undefined) throw missing(name)
        return ok(await toPublicPipeline(app, await showPipeline(app, undefined, row)))
      },
    }),
  ]
}

/** Returns the ids of the pipelines that have one of the wanted values of every label in the query; undefined without labels. */
async function findLabelled(app: App, query: Readonly<Record<string, unknown>>): Promise<Set<string> | undefined> {
  const wanted = Object.entries(query).flatMap(([key, value]) => {
    const name = /^labels\[(.+)\]$/.exec(key)?.[1]
    return name === undefined ? [] : [{ name, values: [value].flat().flatMap((text) => String(text).split(',')) }]
  })
  if (wanted.length === 0) return undefined
  const rows = await listPipelineSettings(app.store.query, app.accountId)
  const hasAll = (row: Pick<PipelineRow, 'settings'>): boolean => {
    const { labels = {} } = readPipelineSettings(row)
    return wanted.every(({ name, values }) => [labels[name]].flat().some((own) => values.includes(String(own))))
  }
  return new Set(rows.filter(hasAll).map(({ id }) => id))
}

/** Clients look for the words `not find`. */
function missing(name: string): Error {
  return fault('not-found', { message: `Could not find pipeline "${name}".` })
}

/** Returns the pipelines with one of these ids or names, then those whose name contains one of them. */
function matching(heads: readonly PipelineHead[], wanted: readonly string[]): PipelineHead[] {
  const exact = new Set(wanted)
  const isExact = ({ id, name }: PipelineHead): boolean => exact.has(id) || exact.has(name)
  const isPart = ({ name }: PipelineHead): boolean => wanted.some((part) => name.includes(part))
  return [...heads.filter(isExact), ...heads.filter((head) => !isExact(head) && isPart(head))]
}

/** Converts a pipeline of a list. One whose document is too expensive has no steps, because it must not hide the others. */
async function toListedPipeline(app: App, pipeline: Pipeline): Promise<Record<string, unknown>> {
  return toPublicPipeline(app, pipeline).catch((error: unknown) => {
    if (isFault(error, 'document-too-expensive')) return toPublicPipeline(app, { ...pipeline, document: '' })
    throw error
  })
}

function writeRoutes(app: App): Route[] {
  return [
    route('POST', '/api/pipelines', {
      summary: 'Create a pipeline from a manifest',
      ...writes,
      project: 'handler',
      readsDocument: true,
      body: PipelineManifest,
      replies: { 200: Document },
      async handle({ body, actor, settle }) {
        const document = toPipelineDocument(body)
        // Without the text of the stored document, which would have to be parsed in the transaction.
        const answer = (pipeline: Pipeline): Answer => ok(toPublicShape(app, pipeline, document))
        const creation = { input: toInput(document), authorize: requireWrite(app, actor), change: { by: nameOf(actor) } }
        return answer(await createPipeline(app, creation, (tx, created) => settle(tx, answer(created))))
      },
    }),
    route('PUT', '/api/pipelines/{name}', {
      summary: 'Replace a pipeline by a manifest; refuses an old revision unless the check is disabled',
      ...writes,
      project: 'pipeline',
      readsDocument: true,
      params: ByName,
      query: z.object({ disableRevisionCheck: Flag, skipTriggerValidation: Flag }),
      body: PipelineManifest,
      replies: { 200: Document },
      async handle({ params: { name }, query, body, actor }) {
        if ((await findPipeline(app.store.query, app.accountId, name)) === undefined) throw missing(name)
        const { revision } = body.metadata
        const isChecked = revision !== undefined && query.disableRevisionCheck !== true
        const precondition = { ifMatch: isChecked ? `"${revision}"` : '*' }
        const { pipeline } = await putPipeline(app, {
          name,
          input: toInput(toPipelineDocument(body)),
          precondition,
          authorize: requireWrite(app, actor),
          change: { by: nameOf(actor) },
        })
        return ok(await toPublicPipeline(app, pipeline))
      },
    }),
    route('DELETE', '/api/pipelines/{name}', {
      summary: 'Delete a pipeline and keep its builds',
      ...writes,
      project: 'pipeline',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removePipeline(app, params.name)
        return done
      },
    }),
  ]
}

function toInput(document: ReturnType<typeof toPipelineDocument>): PipelineInput {
  const { name } = Object(document['metadata'])
  return requireShape(PipelineInput, { name, document: toText(document) })
}

function validatorRoute(app: App): Route {
  return route('POST', '/api/pipelines/yaml/validator', {
    summary: 'Validate a pipeline document; the answer has the texts that clients print',
    ...reads,
    project: 'handler',
    readsDocument: true,
    body: z.object({ yaml: z.string().max(1_048_576), name: z.string().max(1000).optional() }),
    replies: { 200: z.looseObject({ valid: z.boolean() }) },
    async handle({ body: { yaml: text, name: file = 'pipeline.yaml' } }) {
      const problems = await validateDocument(app, { text, file })
      const valid = problems.every(({ severity }) => severity !== 'error')
      const issues = problems.map((problem) => ({ ...problem }))
      if (problems.length === 0) return ok({ valid, details: null, issues })
      return ok({ valid, ...formatLint(problems), details: problems.map(toDetail), issues })
    },
  })
}

function toDetail({ message, line }: { readonly message: string; readonly line: number }): { message: string } {
  return { message: `line ${line}: ${message}` }
}
