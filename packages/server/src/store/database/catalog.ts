/** Which tables and indexes a database has, from its catalog. */
import { PostgresAdapter, sql, type Kysely } from 'kysely'
import type { Schema } from '../schema/schema.ts'

export function isPostgres(query: Kysely<Schema>): boolean {
  return query.getExecutor().adapter instanceof PostgresAdapter
}

/** Reads one row. The introspection of Kysely reads every column of every table, which was most of the work at the start of a server. */
export async function hasTable(query: Kysely<Schema>, table: string): Promise<boolean> {
  const { rows } = await (
    isPostgres(query)
      ? sql`select 1 from pg_class where relname = ${table} and relkind = 'r' and pg_table_is_visible(oid)`
      : sql`select 1 from sqlite_schema where name = ${table} and type = 'table'`
  ).execute(query)
  return rows.length > 0
}

/**
 * Returns which of these indexes can be used. On PostgreSQL, an interrupted build leaves an index that is not valid;
 * https://www.postgresql.org/docs/15/catalog-pg-index.html.
 */
export async function findIndexes(query: Kysely<Schema>, names: readonly string[]): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set()
  const { rows } = await (
    isPostgres(query)
      ? sql<{ name: string }>`select relname as name from pg_class join pg_index on indexrelid = pg_class.oid
          where relname in (${sql.join(names)}) and indisvalid and pg_table_is_visible(pg_class.oid)`
      : sql<{ name: string }>`select name from sqlite_schema where name in (${sql.join(names)}) and type = 'index'`
  ).execute(query)
  return new Set(rows.map(({ name }) => name))
}
