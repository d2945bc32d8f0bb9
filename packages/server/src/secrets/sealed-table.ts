/** Reads the sealed column of a table whose rows have a text as key. */
import { sql } from 'kysely'
import type { Schema } from '../store/schema/schema.ts'
import { bytesOf, PAGE, page, readPart, type Change, type ReadPage } from './sealed-page.ts'

export interface SealedTable<T extends keyof Schema, C extends keyof Schema[T] & string> {
  readonly table: T
  readonly key: C
  readonly column: C
  /** The columns that `changed` needs besides. */
  readonly more: readonly C[]
  /** Only rows whose keys begin with this text, which must not contain `%` or `_`. */
  readonly prefix?: string
  /** Returns the value of the column with its sealed texts changed. Throws if it is damaged. */
  changed(row: Pick<Schema[T], C>, value: string, change: Change): string
}

/** Returns the reader of a table. Rows whose column is null have no sealed text. */
export function readTable<const T extends keyof Schema, const C extends keyof Schema[T] & string>(
  of: SealedTable<T, C>,
): ReadPage {
  type Row = Pick<Schema[T], C>
  const [table, key, column] = [sql.table(of.table), sql.ref(of.key), sql.ref(of.column)]
  const columns = sql.join([key, column, ...of.more.map((name) => sql.ref(name))])
  const isOwn = of.prefix === undefined ? sql`` : sql`and ${key} like ${`${of.prefix}%`}`
  const keyOf = (row: Row): string => String(row[of.key])
  return async (query, after) => {
    const behind = sql`from ${table} where ${key} > ${after} ${isOwn}`
    const { rows: sizes } = await sql<
      Row & { bytes: number }
    >`select ${key}, ${bytesOf(of.column)} ${behind} order by ${key} limit ${PAGE}`.execute(query)
    const readTo = async (last: Row): Promise<Row[]> =>
      (await sql<Row>`select ${columns} ${behind} and ${key} <= ${keyOf(last)} order by ${key}`.execute(query)).rows
    return page(await readPart(sizes, readTo, keyOf), keyOf, (row) => {
      const value: unknown = row[of.column]
      if (typeof value !== 'string') return undefined
      return {
        value,
        changed: (change) => of.changed(row, value, change),
        async save(tx, changed) {
          const { numAffectedRows = 0n } =
            await sql`update ${table} set ${column} = ${changed} where ${key} = ${keyOf(row)} and ${column} = ${value}`.execute(
              tx.query,
            )
          return numAffectedRows > 0n
        },
      }
    })
  }
}
