/** Routes through which public clients read an account: projects, pipelines, contexts and step types. Secrets are always masked. */
import { fault } from '@windlass/kit'
import { Name, type Context, type Project } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { listShownContexts } from '../../contexts/contexts.ts'
import { showPipeline } from '../../pipelines/pipelines.ts'
import { listProjectPage } from '../../pipelines/projects.ts'
import { listStepTypes, listVersions, showStepType } from '../../step-types/step-types.ts'
import { findPipeline, listPipelineHeads, type PipelineHead } from '../../store/account/pipelines.ts'
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
/** A page ends early after this many characters of documents. Clients continue at the next offset. */
const PAGE_CHARS = 4 * 1_048_576

const readsPipelines = { allow: 'viewer', scope: 'pipeline:read' } as const

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
        return ok({ docs: await readPage(app, found.slice(offset, offset + limit)), count: found.length })
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
  const isExact = ({ id, name }: PipelineHead): boolean => wanted.includes(id) || wanted.includes(name)
  const isPart = ({ name }: PipelineHead): boolean => wanted.some((part) => name.includes(part))
  return [...heads.filter(isExact), ...heads.filter((head) => !isExact(head) && isPart(head))]
}

/** Reads the documents of these pipelines, in order, until the page is full. At least one is read. */
async function readPage(app: App, heads: readonly PipelineHead[]): Promise<Record<string, unknown>[]> {
  const docs: Record<string, unknown>[] = []
  let chars = 0
  for (const { id } of heads) {
    const row = await findPipeline(app.store.query, app.accountId, id)
    if (row === undefined) continue
    chars += row.document.length
    if (chars > PAGE_CHARS && docs.length > 0) break
    docs.push(await toPublicPipeline(app, await showPipeline(app, undefined, row)))
  }
  return docs
}

function contextRoutes(app: App): Route[] {
  return [
    route('GET', '/api/contexts', {
      summary: 'List contexts; secret fields are masked',
      allow: 'viewer',
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
        const docs: Record<string, unknown>[] = []
        let chars = 0
        for (const { name, version } of all.slice(offset, offset + limit)) {
          const shown = await showStepType(app, `${name}:${version}`)
          chars += shown.manifest?.length ?? 0
          if (chars > PAGE_CHARS && docs.length > 0) break
          docs.push(await toPublicStepType(app, shown))
        }
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
