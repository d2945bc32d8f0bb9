/** Projects for public clients. */
import { defined, fault } from '@windlass/kit'
import { Name, type Project, type ProjectInput } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { listProjectPage, putProject, removeProject, showProject } from '../../../pipelines/projects.ts'
import { placesOf } from '../../../identity/actor.ts'
import { requireSameName } from '../../routes/pipelines/pipeline.ts'
import { findProject } from '../../../store/pipelines/projects.ts'
import { done, ok, route, type Answer, type Route } from '../../route.ts'
import { Range, Texts } from '../documents.ts'

const ById = z.object({ id: z.string().min(1).max(300) })
const ByName = z.object({ name: z.string().min(1).max(300) })
const reads = { allow: 'see-pipelines', scope: 'pipeline:read' } as const
const writes = { allow: 'change-projects', scope: 'pipeline:write' } as const

const Variable = z.object({ key: z.string(), value: z.string(), encrypted: z.boolean().default(false) })
const Tags = z.array(z.string().max(300)).max(1000)
const Variables = z.array(Variable).max(10_000)
const ProjectBody = z.object({ projectName: Name, tags: Tags.default([]), variables: Variables.default([]) })
const ProjectChange = z.object({ projectName: Name.optional(), tags: Tags.optional(), variables: Variables.optional() })

const PublicProject = z.object({
  id: z.string(),
  projectName: z.string(),
  tags: z.array(z.string()),
  variables: z.array(Variable),
  favorite: z.boolean(),
  pipelinesNumber: z.int(),
  updatedAt: z.string(),
})

/** Projects have neither tags nor favorites, so those fields are empty. */
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

/** Throws `request-invalid` for what projects cannot store. */
function toProjectInput({ projectName: name, tags, variables }: z.output<typeof ProjectBody>): z.output<typeof ProjectInput> {
  if (tags.length > 0) throw fault('request-invalid', { message: 'Projects have no tags.', hint: 'Leave out --tag.' })
  const secret = variables.find(({ encrypted }) => encrypted)
  if (secret !== undefined)
    throw fault('request-invalid', {
      message: `Projects have no encrypted variables such as "${secret.key}".`,
      hint: 'Put the value into a context of type secret.',
    })
  return { name, variables: Object.fromEntries(variables.map(({ key, value }) => [key, value])) }
}

export function publicProjectRoutes(app: App): Route[] {
  const find = async (name: string): Promise<Project> =>
    showProject(app, requireFound(await findProject(app.store.query, app.accountId, name), `project "${name}"`))
  return [
    route('GET', '/api/projects', {
      summary: 'List projects by name',
      ...reads,
      project: 'handler',
      query: Range.extend({ name: z.string().max(300).optional(), tags: Texts }),
      replies: { 200: z.object({ projects: z.array(PublicProject), count: z.int() }) },
      async handle({ query: { limit, offset, name = '', tags }, actor }) {
        const ids = placesOf(actor, 'see-pipelines')?.projects
        const all = tags === undefined ? await listProjectPage(app, { after: undefined, limit: 100_000, ids }) : []
        const found = all.filter((one) => one.name.includes(name))
        return ok({ projects: found.slice(offset, offset + limit).map(toPublicProject), count: found.length })
      },
    }),
    route('POST', '/api/projects', {
      summary: 'Create a project',
      ...writes,
      body: ProjectBody,
      replies: { 200: PublicProject },
      async handle({ body, settle }) {
        const answer = (project: Project): Answer => ok(toPublicProject(project))
        const put = { input: toProjectInput(body), mustBeNew: true }
        return answer((await putProject(app, put, (tx, project) => settle(tx, answer(project)))).project)
      },
    }),
    route('GET', '/api/projects/name/{name}', {
      summary: 'Show a project by its name',
      ...reads,
      project: 'project',
      params: ByName,
      replies: { 200: PublicProject },
      handle: async ({ params }) => ok(toPublicProject(await find(params.name))),
    }),
    route('GET', '/api/projects/{id}', {
      summary: 'Show a project',
      ...reads,
      project: 'project',
      params: ById,
      replies: { 200: PublicProject },
      handle: async ({ params }) => ok(toPublicProject(await find(params.id))),
    }),
    route('PATCH', '/api/projects/{id}', {
      summary: 'Change the name or the variables of a project',
      ...writes,
      project: 'project',
      params: ById,
      body: ProjectChange,
      replies: { 200: PublicProject },
      async handle({ params: { id }, body, actor }) {
        const { projectName, variables } = toPublicProject(await find(id))
        await requireSameName(app, actor, { before: id, after: body.projectName ?? projectName })
        const input = toProjectInput({ projectName, tags: [], variables, ...defined(body) })
        return ok(toPublicProject((await putProject(app, { name: id, input, mustBeNew: false })).project))
      },
    }),
    route('DELETE', '/api/projects/{id}', {
      summary: 'Delete a project that has no pipelines',
      ...writes,
      project: 'project',
      params: ById,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        await removeProject(app, params.id)
        return done
      },
    }),
  ]
}
