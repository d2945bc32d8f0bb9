/** Search of resources by a part of their names. */
import { sql } from 'kysely'
import type { Query } from './store.ts'

export interface NameSearch {
  readonly accountId: string
  readonly text: string
  /** Only pipelines of these projects, or these projects. */
  readonly projectIds?: readonly string[] | undefined
  readonly limit: number
}

export interface Named {
  readonly id: string
  readonly name: string
}

/** The column that holds the project of a resource. */
const PROJECT = { pipeline: 'project_id', project: 'id', runtime: undefined, context: undefined } as const

/** Finds resources whose names contain the text, ignoring case; names that start with it, and short ones, come first. */
export async function findNames(
  query: Query,
  table: keyof typeof PROJECT,
  { accountId, text, projectIds, limit }: NameSearch,
): Promise<Named[]> {
  const column = PROJECT[table]
  if (projectIds?.length === 0) return []
  const literal = text.replaceAll(/[\\%_]/g, String.raw`\$&`)
  const ofProjects =
    projectIds === undefined || column === undefined ? sql`` : sql`and ${sql.ref(column)} in (${sql.join([...projectIds])})`
  const { rows } = await sql<Named>`
    select id, name from ${sql.table(table)}
    where account_id = ${accountId} and lower(name) like lower(${`%${literal}%`}) escape '\\' ${ofProjects}
    order by case when lower(name) like lower(${`${literal}%`}) escape '\\' then 0 else 1 end, length(name), name
    limit ${limit}`.execute(query)
  return rows
}
