/** Many rows of a running server, made of one row by a single statement. */
import { sql } from 'kysely'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'

/** Inserts a copy of the row with this id for each of the changes, which all have the same columns. */
export async function copyRows(
  { server: { app } }: HttpScene,
  table: 'build' | 'pipeline',
  id: string,
  changes: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const { query } = app.store
  const row = await query.selectFrom(table).selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const changed = new Set(Object.keys(changes[0] ?? {}))
  const columns = Object.keys(row)
  const values = columns.map((name) => (changed.has(name) ? sql`change.value ->> ${`$.${name}`}` : sql.ref(`original.${name}`)))
  await sql`
    insert into ${sql.table(table)} (${sql.join(columns.map((name) => sql.ref(name)))})
    select ${sql.join(values)} from ${sql.table(table)} as original, json_each(${JSON.stringify(changes)}) as change
    where original.id = ${id}`.execute(query)
}
