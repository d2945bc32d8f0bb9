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

/** Returns the last of these rows that fits into one page, and whether it ends the list. `limit` is that of the query that found them. */
export function firstPart<S extends { readonly bytes: number }>(
  sizes: readonly S[],
  limit: number,
): { last: S | undefined; isLast: boolean } {
  let sum = 0
  const beyond = sizes.findIndex(({ bytes }, index) => (sum += Number(bytes)) > PAGE_BYTES && index > 0)
  return beyond < 0 ? { last: sizes.at(-1), isLast: sizes.length < limit } : { last: sizes[beyond - 1], isLast: false }
}

/**
 * Reads the rows of one page. `readTo` reads up to the last row that fits, and not a number of rows: a row that is inserted between both statements would
 * take the place of that row, which would never be read.
 */
export async function readPart<S extends { readonly bytes: number }, R>(
  sizes: readonly S[],
  readTo: (last: S) => Promise<readonly R[]>,
  cursor: (row: S) => string,
): Promise<Found<R>> {
  const { last, isLast } = firstPart(sizes, PAGE)
  if (last === undefined) return { rows: [], next: undefined }
  return { rows: await readTo(last), next: isLast ? undefined : cursor(last) }
}

interface Found<R> {
  readonly rows: readonly R[]
  readonly next: string | undefined
}

/** Makes a page of rows. `toRow` returns undefined for a row without a sealed text. */
export function page<R>(
  { rows, next }: Found<R>,
  idOf: (row: R) => string,
  toRow: (row: R) => Omit<SealedRow, 'id'> | undefined,
): SealedPage {
  const found = rows.map((row): SealedRow | undefined => {
    const sealed = toRow(row)
    return sealed && { id: idOf(row), ...sealed }
  })
  return { rows: found.filter((row) => row !== undefined), next }
}

interface Update {
  executeTakeFirstOrThrow(): Promise<{ readonly numUpdatedRows: bigint }>
}

/** Returns whether an update changed a row. */
export async function saved(update: Update): Promise<boolean> {
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows > 0n
}
