/** Pages of rows that hold sealed texts, limited in number and size. */
import { sql } from 'kysely'
import type { Query, Tx } from '../store/store.ts'
import type { Place } from './places.ts'

/** Rewraps one sealed text of a place. */
export type Change = (place: Place, sealed: string) => string

/** A row with a column that holds sealed texts. */
export interface SealedRow {
  /** Identifies the row in logs. */
  readonly id: string
  /** Returns the column with its sealed texts changed. Throws if it is damaged. */
  changed(change: Change): string
  /** The column as it was read. */
  readonly value: string
  /** Writes the column unless it was changed in the meantime; returns whether it did. */
  save(tx: Tx, value: string): Promise<boolean>
}

export interface SealedPage {
  readonly rows: readonly SealedRow[]
  /** Cursor of the next page; undefined after the last page. */
  readonly next: string | undefined
}

/** Reads the rows after a cursor, limited in number and size. */
export type ReadPage = (query: Query, after: string) => Promise<SealedPage>

/** Maximum rows per page. Each page is held in memory and rewritten in one transaction, which must be short. */
export const PAGE = 50
/** Maximum bytes per page, unless its first row is larger. */
const PAGE_BYTES = 4 * 1024 * 1024

/** Returns the size of a column in bytes, without reading it. */
export function bytesOf(column: string) {
  return sql<number>`coalesce(octet_length(${sql.ref(column)}), 0)`.as('bytes')
}

/** Returns how many of these rows fit into one page, and whether it is the last page. `limit` is that of the query that found them. */
export function firstPart(sizes: readonly { readonly bytes: number }[], limit: number): { count: number; isLast: boolean } {
  let sum = 0
  const beyond = sizes.findIndex(({ bytes }, index) => (sum += Number(bytes)) > PAGE_BYTES && index > 0)
  return beyond < 0 ? { count: sizes.length, isLast: sizes.length < limit } : { count: beyond, isLast: false }
}

interface Found<R> {
  readonly rows: readonly R[]
  readonly isLast: boolean
}

/** Makes a page of rows. `toRow` returns undefined for a row without a sealed text. */
export function page<R>(
  { rows, isLast }: Found<R>,
  cursor: (row: R) => string,
  toRow: (row: R) => Omit<SealedRow, 'id'> | undefined,
): SealedPage {
  const last = rows.at(-1)
  const found = rows.map((row): SealedRow | undefined => {
    const sealed = toRow(row)
    return sealed && { id: cursor(row), ...sealed }
  })
  return {
    rows: found.filter((row) => row !== undefined),
    next: isLast || last === undefined ? undefined : cursor(last),
  }
}

interface Update {
  executeTakeFirstOrThrow(): Promise<{ readonly numUpdatedRows: bigint }>
}

/** Returns whether an update changed a row. */
export async function saved(update: Update): Promise<boolean> {
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows > 0n
}
