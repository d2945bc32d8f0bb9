import type { ProjectQuotas, ProjectRow } from '../schema/schema.ts'
import { preparedOne } from '../database/prepared.ts'
import type { LimitReader, Query, Tx } from '../store.ts'

const findByName = preparedOne((query: Query, accountId: string, name: string) =>
  query
    .selectFrom('project')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)])),
)

/** Finds a project by id or name. */
export async function findProject(query: Query, accountId: string, name: string): Promise<ProjectRow | undefined> {
  return findByName(query, accountId, name)
}

export interface ProjectFilter {
  readonly accountId: string
  readonly after: string | undefined
  readonly limit: number
  /** Only these projects. */
  readonly ids?: readonly string[] | undefined
}

export async function listProjects(query: Query, filter: ProjectFilter): Promise<ProjectRow[]> {
  if (filter.ids?.length === 0) return []
  let select = query.selectFrom('project').selectAll().where('account_id', '=', filter.accountId)
  if (filter.after !== undefined) select = select.where('name', '>', filter.after)
  if (filter.ids !== undefined) select = select.where('id', 'in', filter.ids)
  return select.orderBy('name').limit(filter.limit).execute()
}

/** Counts the pipelines of each project; projects without pipelines are missing. */
export async function countPipelines(query: Query, accountId: string): Promise<Map<string, number>> {
  const rows = await query
    .selectFrom('pipeline')
    .select((of) => ['project_id', of.fn.countAll<number>().as('count')])
    .where('account_id', '=', accountId)
    .where('project_id', 'is not', null)
    .groupBy('project_id')
    .execute()
  return new Map(rows.map(({ project_id: id, count }) => [id ?? '', count]))
}

/** Inserts or replaces a project by id. */
export async function saveProject(tx: Tx, project: ProjectRow): Promise<void> {
  await tx.query
    .insertInto('project')
    .values(project)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(project))
    .execute()
}

export async function deleteProject(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('project').where('id', '=', id).execute()
}

export const NO_QUOTAS: ProjectQuotas = {
  concurrency: null,
  build_days: null,
  log_days: null,
  max_builds: null,
  max_log_bytes: null,
}

/** Finds a project by id or name and locks it until the end of the transaction. */
export async function lockProject(tx: Tx, accountId: string, name: string): Promise<ProjectRow | undefined> {
  return tx.query
    .selectFrom('project')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

/** A project with a limit of concurrent builds. */
export interface LimitedProject extends Pick<ProjectRow, 'id' | 'name'> {
  readonly concurrency: number
}

/** Locks the projects that have a limit of concurrent builds, in the order of their ids. */
export async function lockLimitedProjects(tx: LimitReader, accountId: string): Promise<LimitedProject[]> {
  const rows = await tx.query
    .selectFrom('project')
    .select(['id', 'name', 'concurrency'])
    .where('account_id', '=', accountId)
    .where('concurrency', 'is not', null)
    .orderBy('id')
    .$call(tx.forUpdate)
    .execute()
  return rows.map(({ concurrency, ...row }) => ({ ...row, concurrency: concurrency ?? Infinity }))
}

/** Lists the projects that have a quota for builds or logs, by id. */
export async function listRetainedProjects(query: Query, accountId: string): Promise<ProjectRow[]> {
  const columns = ['build_days', 'log_days', 'max_builds', 'max_log_bytes'] as const
  return query
    .selectFrom('project')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or(columns.map((column) => where(column, 'is not', null))))
    .orderBy('id')
    .execute()
}
