/** Search of resources by a part of their names. */
import { sql, type RawBuilder, type SqlBool } from 'kysely'
import type { Query } from './store.ts'
import { withinPlaces, type Places } from './places.ts'

export interface NameSearch {
  readonly accountId: string
  readonly text: string
  /** Only projects and pipelines of these places; nothing of other tables. */
  readonly places?: Places | undefined
  readonly limit: number
}

export interface Named {
  readonly id: string
  readonly name: string
}

export type NamedTable = 'pipeline' | 'project' | 'runtime' | 'context'

/** Finds resources whose names contain the text, ignoring case; names that start with it, and short ones, come first. */
export async function findNames(
  query: Query,
  table: NamedTable,
  { accountId, text, places, limit }: NameSearch,
): Promise<Named[]> {
  const literal = text.replaceAll(/[\\%_]/g, String.raw`\$&`)
  const seen = places === undefined ? sql`` : sql`and ${withinTable(table, places)}`
  const { rows } = await sql<Named>`
    select id, name from ${sql.table(table)}
    where account_id = ${accountId} and lower(name) like lower(${`%${literal}%`}) escape '\\' ${seen}
    order by case when lower(name) like lower(${`${literal}%`}) escape '\\' then 0 else 1 end, length(name), name
    limit ${limit}`.execute(query)
  return rows
}

function withinTable(table: NamedTable, places: Places): RawBuilder<SqlBool> {
  if (table === 'pipeline') return withinPlaces(places, { project: 'project_id', pipeline: 'id' })
  const projects = table === 'project' ? places.projects : []
  return withinPlaces({ projects, pipelines: [] }, { project: 'id', pipeline: 'id' })
}
