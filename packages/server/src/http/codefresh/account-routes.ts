/** Routes through which public clients read an account: projects, pipelines, contexts and step types. Secrets are always masked. */
import { setImmediate } from 'node:timers/promises'
import { defined, fault, isFault } from '@windlass/kit'
import { Name, type Context, type Pipeline, type Project, type StepTypeResource } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { listShownContexts } from '../../contexts/contexts.ts'
import { showPipeline, showPipelines } from '../../pipelines/pipelines.ts'
import { listProjectPage } from '../../pipelines/projects.ts'
import { listStepTypes, listVersions, showStepType } from '../../step-types/step-types.ts'
import { findPipeline, listPipelineHeads, listPipelinesById, type PipelineHead } from '../../store/account/pipelines.ts'
import { findStepType } from '../../store/account/step-types.ts'
import { ok, route, type Route } from '../route.ts'
import { toPublicPipeline } from './public-pipeline.ts'
import { toPublicStepType } from './public-step-type.ts'

const ByName = z.object({ name: Name })
const Texts = z.union([z.string().max(300), z.array(z.string().max(300)).max(1000)]).optional()
const Range = z.object({
  limit: z.coerce.number().int().min(0).max(10_000).default(25),
  offset: z.coerce.number().int().min(0).default(0),
})
const Document = z.looseObject({})
const Page = z.object({ docs: z.array(Document), count: z.int() })
/**
 * Limits of a page of documents: their number, their stored text, and the JSON text that they are converted to. A page ends early at a limit. Clients
 * continue at the next offset.
 */
const PAGE_DOCUMENTS = 300
const PAGE_BYTES = 4 * 1_048_576
const PAGE_CHARS = 4 * 1_048_576

const readsPipelines = { allow: 'see-pipelines', scope: 'pipeline:read' } as const

export function accountRoutes(app: App): Route[] {
  return [...projectRoutes(app), ...pipelineRoutes(app), ...contextRoutes(app), ...stepTypeRoutes(app)]
}

const PublicProject = z.object({
  id: z.string(),
  projectName: z.string(),
  tags: z.array(z.string()),
  variables: z.array(z.object({ key: z.string(), value: z.string(), encrypted: z.boolean() })),
  favorite: z.boolean(),
  pipelinesNumber: z.int(),
  updatedAt: z.string(),
})

function toPublicProject({ id, name, variables, pipelines, updatedAt }: Project): z.output<typeof PublicProject> {
  return {
    id,
    projectName: name,
    tags: [],
    variables: Object.entries(variables).map(([key, value]) => ({ key, value, encrypted: false })),
    favorite: false,
    pipelinesNumber: pipelines,
    updatedAt: new Date(updatedAt).toISOString(),
  }
}

function projectRoutes(app: App): Route[] {
  return [
    route('GET', '/api/projects', {
      summary: 'List projects by name',
      ...readsPipelines,
      query: Range.extend({ name: z.string().max(300).optional() }),
      replies: { 200: z.object({ projects: z.array(PublicProject), count: z.int() }) },
      async handle({ query: { limit, offset, name = '' } }) {
        const all = (await listProjectPage(app, { after: undefined, limit: 100_000 })).filter((one) => one.name.includes(name))
        return ok({ projects: all.slice(offset, offset + limit).map(toPublicProject), count: all.length })
      },
    }),
  ]
}

function pipelineRoutes(app: App): Route[] {
  return [
    route('GET', '/api/pipelines', {
      summary: 'List pipelines with their documents, by name',
      ...readsPipelines,
      query: Range.extend({ id: Texts, projectId: z.string().max(300).optional() }),
      readsDocument: true,
      replies: { 200: Page },
      async handle({ query: { limit, offset, id, projectId } }) {
        const names = id === undefined ? undefined : [id].flat()
        const heads = await listPipelineHeads(app.store.query, app.accountId)
        const ofProject = heads.filter((head) => projectId === undefined || head.project_id === projectId)
        const found = names === undefined ? ofProject : matching(ofProject, names)
        const ids = sliceOf(found, { limit, offset }).map((head) => head.id)
        const rows = await listPipelinesById(app.store.query, app.accountId, { ids, maxBytes: PAGE_BYTES })
        const docs = await fillPage(await showPipelines(app, rows), (pipeline) => toListedPipeline(app, pipeline))
        return ok({ docs, count: found.length })
      },
    }),
    route('GET', '/api/pipelines/{name}', {
      summary: 'Show a pipeline with its document',
      ...readsPipelines,
      params: ByName,
      readsDocument: true,
      replies: { 200: Document },
      async handle({ params: { name } }) {
        const row = await findPipeline(app.store.query, app.accountId, name)
        if (row === undefined) throw fault('not-found', { message: `Could not find pipeline "${name}".` })
        return ok(await toPublicPipeline(app, await showPipeline(app, undefined, row)))
      },
    }),
  ]
}

/** Returns the pipelines with one of these ids or names, then those whose name contains one of them. */
function matching(heads: readonly PipelineHead[], wanted: readonly string[]): PipelineHead[] {
  const exact = new Set(wanted)
  const isExact = ({ id, name }: PipelineHead): boolean => exact.has(id) || exact.has(name)
  const isPart = ({ name }: PipelineHead): boolean => wanted.some((part) => name.includes(part))
  return [...heads.filter(isExact), ...heads.filter((head) => !isExact(head) && isPart(head))]
}

function sliceOf<T>(all: readonly T[], { limit, offset }: { readonly limit: number; readonly offset: number }): T[] {
  return all.slice(offset, offset + Math.min(limit, PAGE_DOCUMENTS))
}

type Doc = Record<string, unknown>

/** Converts resources, in order, until the page is full or the key has used its processing time. A page has at least one document, or throws. */
async function fillPage<T>(items: Iterable<T>, convert: (item: T) => Promise<Doc>): Promise<Doc[]> {
  const docs: Doc[] = []
  let chars = 0
  for (const item of items) {
    // Neither SQLite nor the conversion of a small document waits for anything, so that the whole page would block the event loop.
    await setImmediate()
    try {
      const doc = await convert(item)
      chars += JSON.stringify(doc).length
      if (chars > PAGE_CHARS && docs.length > 0) break
      docs.push(doc)
    } catch (error) {
      if (isFault(error, 'rate-limited') && docs.length > 0) break
      throw error
    }
  }
  return docs
}

/** Converts a pipeline of a list. One whose document is too expensive has no steps, because it must not hide the others. */
async function toListedPipeline(app: App, pipeline: Pipeline): Promise<Doc> {
  return toPublicPipeline(app, pipeline).catch((error: unknown) => {
    if (isFault(error, 'document-too-expensive')) return toPublicPipeline(app, { ...pipeline, document: '' })
    throw error
  })
}

/** Converts a step type of a list, which is read without its manifest. One whose manifest is too expensive has no fields. */
async function toListedStepType(app: App, listed: StepTypeResource): Promise<Doc> {
  const shown = listed.builtIn
    ? await showStepType(app, `${listed.name}:${listed.version}`)
    : { ...listed, ...defined({ manifest: (await findStepType(app.store.query, app.accountId, listed))?.manifest }) }
  return toPublicStepType(app, shown).catch((error: unknown) => {
    if (isFault(error, 'document-too-expensive')) return toPublicStepType(app, listed)
    throw error
  })
}

function contextRoutes(app: App): Route[] {
  return [
    route('GET', '/api/contexts', {
      summary: 'List contexts; secret fields are masked',
      allow: 'see-contexts',
      scope: 'context:read',
      query: z.object({ type: Texts }),
      replies: { 200: z.array(Document) },
      async handle({ query: { type } }) {
        const types = type === undefined ? undefined : [type].flat()
        const all = await listShownContexts(app)
        return ok(all.filter((one) => types === undefined || types.includes(one.type)).map(toPublicContext))
      },
    }),
  ]
}

function toPublicContext({ name, type, isDefault, data }: Context): Record<string, unknown> {
  return { apiVersion: 'v1', kind: 'context', metadata: { name, default: isDefault, system: false }, spec: { type, data } }
}

function stepTypeRoutes(app: App): Route[] {
  return [
    route('GET', '/api/step-types', {
      summary: 'List the latest version of each step type with its manifest, by name',
      ...readsPipelines,
      query: Range,
      readsDocument: true,
      replies: { 200: Page },
      async handle({ query: { limit, offset } }) {
        const all = await listStepTypes(app, { after: undefined, limit: 100_000 })
        const docs = await fillPage(sliceOf(all, { limit, offset }), (one) => toListedStepType(app, one))
        return ok({ docs, count: all.length })
      },
    }),
    route('GET', '/api/step-types/{name}', {
      summary: 'Show a step type: the latest version, or the one in `name:version`',
      ...readsPipelines,
      params: ByName,
      readsDocument: true,
      replies: { 200: Document },
      handle: async ({ params }) => ok(await toPublicStepType(app, await showStepType(app, params.name))),
    }),
    route('GET', '/api/step-types/{name}/versions', {
      summary: 'List the versions of a step type, latest first',
      ...readsPipelines,
      params: ByName,
      replies: { 200: z.array(z.string()) },
      handle: async ({ params }) => ok((await listVersions(app, params.name)).map(({ version }) => version)),
    }),
  ]
}
