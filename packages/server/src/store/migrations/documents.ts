/** Pages of rows with documents, for migrations that change documents. */
import { sql, type Kysely, type RawBuilder } from 'kysely'

/** Rows per page, because documents are large. */
export const PAGE = 50

/** Calls `change` with the last id of the previous page until a page is not full. `change` returns the ids of its page. */
export async function forEachRow(change: (after: string) => Promise<readonly string[]>): Promise<void> {
  for (let ids = await change(''); ids.length === PAGE; ids = await change(ids.at(-1) ?? '')) continue
}

/** Returns `mask` with its last result cached, because most builds of a pipeline have the same document. */
export function cached(mask: (text: string) => string): (text: string) => string {
  let last: { readonly text: string; readonly masked: string } | undefined
  return (text) => {
    if (last?.text !== text) last = { text, masked: mask(text) }
    return last.masked
  }
}

/** Masks the stored and fetched documents of builds. `pattern` is what follows `like` to select them. */
export async function maskBuildDocuments(
  db: Kysely<unknown>,
  pattern: RawBuilder<unknown>,
  masked: (text: string) => string,
): Promise<void> {
  await forEachRow(async (after) => {
    const { rows } = await sql<{ build_id: string; document: string; fetched: string | null }>`
      select build_id, document, fetched from build_plan
      where build_id > ${after} and (document like ${pattern} or fetched like ${pattern})
      order by build_id limit ${PAGE}`.execute(db)
    for (const { build_id: id, document, fetched } of rows) {
      const next = { document: masked(document), fetched: fetched === null ? null : masked(fetched) }
      if (next.document !== document || next.fetched !== fetched)
        await sql`update build_plan set document = ${next.document}, fetched = ${next.fetched} where build_id = ${id}`.execute(db)
    }
    return rows.map(({ build_id: id }) => id)
  })
}
