import { fault, newId } from '@windlass/kit'
import type { Project, ProjectInput, ProjectQuotas } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { noteDetail, noteSubject } from '../audit/call.ts'
import { ELECT_TOPIC } from '../builds/lifecycle/edit.ts'
import { present } from '../builds/lifecycle/present.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import {
  countPipelines,
  deleteProject,
  findProject,
  lockProject,
  NO_QUOTAS,
  listProjects,
  saveProject,
  type ProjectFilter,
} from '../store/pipelines/projects.ts'
import { deleteProjectRoles } from '../store/access/roles.ts'
import type { ProjectRow } from '../store/schema/schema.ts'
import type { Query, Within } from '../store/store.ts'

const Variables = z.record(z.string(), z.string())

export interface ProjectPut {
  /** Id or name of the project to replace. */
  readonly name?: string | undefined
  readonly input: z.output<typeof ProjectInput>
  readonly mustBeNew: boolean
}

/** Creates or replaces a project. `within` runs in the same transaction. Throws `conflict` if its name is taken. */
export async function putProject(
  app: App,
  { name, input, mustBeNew }: ProjectPut,
  within?: Within<Project>,
): Promise<{ project: Project; isNew: boolean }> {
  return app.store.write(async (tx) => {
    const before = await lockProject(tx, app.accountId, name ?? input.name)
    const taken = await findProject(tx.query, app.accountId, input.name)
    if (taken !== undefined && (mustBeNew || taken.id !== before?.id))
      throw fault('conflict', {
        message: `The project "${input.name}" already exists.`,
        hint: 'Use another name, or replace the existing one.',
      })
    const now = app.clock.now()
    const fresh: ProjectRow = {
      ...(before ?? NO_QUOTAS),
      id: before?.id ?? newId(now),
      account_id: app.accountId,
      name: input.name,
      variables: JSON.stringify(input.variables),
      created_at: before?.created_at ?? now,
      updated_at: now,
    }
    await saveProject(tx, fresh)
    noteSubject(describeWrite(before, fresh))
    const project = await showProject(app, fresh, tx.query)
    await within?.(tx, project)
    return { project, isNew: before === undefined }
  })
}

/** Returns what a write changes as the audit log says it: of variables only the names, because their values may be private. */
function describeWrite(before: ProjectRow | undefined, after: ProjectRow): string {
  if (before === undefined) return `project ${after.name}, new`
  const [old, now] = [before, after].map(({ variables }) => Variables.parse(JSON.parse(variables)))
  const names = Object.keys({ ...old, ...now }).filter((name) => old?.[name] !== now?.[name])
  const renamed = before.name === after.name ? '' : `, before ${before.name}`
  return `project ${after.name}${renamed}${names.length === 0 ? '' : `, variables changed: ${names.join(', ')}`}`
}

export async function showProject(app: App, row: ProjectRow, query: Query = app.store.query): Promise<Project> {
  const counts = await countPipelines(query, app.accountId)
  return toProject(row, counts)
}

function toProject(row: ProjectRow, counts: ReadonlyMap<string, number>): Project {
  return {
    id: row.id,
    name: row.name,
    variables: Variables.parse(JSON.parse(row.variables)),
    pipelines: counts.get(row.id) ?? 0,
    quotas: readQuotas(row),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export async function listProjectPage(app: App, range: Omit<ProjectFilter, 'accountId'>): Promise<Project[]> {
  const counts = await countPipelines(app.store.query, app.accountId)
  return (await listProjects(app.store.query, { accountId: app.accountId, ...range })).map((row) => toProject(row, counts))
}

/** Returns the quotas that are set. */
export function readQuotas(row: ProjectRow): ProjectQuotas {
  return present({
    concurrency: row.concurrency,
    buildDays: row.build_days,
    logDays: row.log_days,
    maxBuilds: row.max_builds,
    maxLogBytes: row.max_log_bytes,
  })
}

/** Replaces the quotas of a project. Waiting builds may start at once; builds and logs are deleted by the next retention. Throws `not-found`. */
export async function putQuotas(app: App, name: string, quotas: ProjectQuotas): Promise<Project> {
  return app.store.write(async (tx) => {
    const row = requireFound(await lockProject(tx, app.accountId, name), `project "${name}"`)
    const fresh: ProjectRow = {
      ...row,
      concurrency: quotas.concurrency ?? null,
      build_days: quotas.buildDays ?? null,
      log_days: quotas.logDays ?? null,
      max_builds: quotas.maxBuilds ?? null,
      max_log_bytes: quotas.maxLogBytes ?? null,
      updated_at: app.clock.now(),
    }
    await saveProject(tx, fresh)
    noteDetail(`quotas of ${row.name}: ${JSON.stringify(quotas)}`)
    tx.wake(ELECT_TOPIC)
    return showProject(app, fresh, tx.query)
  })
}

/** Deletes a project. Throws `not-found`, and `conflict` while it has pipelines. */
export async function removeProject(app: App, name: string): Promise<void> {
  await app.store.write(async (tx) => {
    const row = await findProject(tx.query, app.accountId, name)
    if (row === undefined) throw fault('not-found', { message: `The project "${name}" does not exist.` })
    const pipelines = (await countPipelines(tx.query, app.accountId)).get(row.id) ?? 0
    if (pipelines > 0)
      throw fault('conflict', {
        message: `The project "${row.name}" still contains ${pipelines} ${pipelines === 1 ? 'pipeline' : 'pipelines'}.`,
        hint: 'Delete its pipelines first.',
      })
    await deleteProjectRoles(tx, { project_id: row.id })
    await deleteProject(tx, row.id)
  })
}
