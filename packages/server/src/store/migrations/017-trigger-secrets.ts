import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { maskStoredDocument, stringifyMasked } from '../../pipelines/mask-document.ts'

/** Rows per page, because documents are large. */
const PAGE = 50

/**
 * Removes the values of encrypted variables of triggers, which earlier versions stored in plain text: in the documents and settings of pipelines, and in the
 * documents of builds.
 */
export const triggerSecrets: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const masked = cached(maskStoredDocument)
    await forEachRow(async (after) => {
      const { rows } = await sql<{ id: string; document: string; settings: string }>`
        select id, document, settings from pipeline
        where id > ${after} and (document like '%encrypted%' or settings like '%encrypted%') order by id limit ${PAGE}`.execute(
        db,
      )
      for (const { id, document, settings } of rows) {
        const next = { document: masked(document), settings: stringifyMasked(JSON.parse(settings)) }
        if (next.document !== document || next.settings !== settings)
          await sql`update pipeline set document = ${next.document}, settings = ${next.settings} where id = ${id}`.execute(db)
      }
      return rows.map(({ id }) => id)
    })
    await forEachRow(async (after) => {
      const { rows } = await sql<{ build_id: string; document: string; fetched: string | null }>`
        select build_id, document, fetched from build_plan
        where build_id > ${after} and (document like '%encrypted%' or fetched like '%encrypted%')
        order by build_id limit ${PAGE}`.execute(db)
      for (const { build_id: id, document, fetched } of rows) {
        const next = { document: masked(document), fetched: fetched === null ? null : masked(fetched) }
        if (next.document !== document || next.fetched !== fetched)
          await sql`update build_plan set document = ${next.document}, fetched = ${next.fetched} where build_id = ${id}`.execute(
            db,
          )
      }
      return rows.map(({ build_id: id }) => id)
    })
  },
}

/** Calls `change` with the last id of the previous page until a page is not full. `change` returns the ids of its page. */
async function forEachRow(change: (after: string) => Promise<readonly string[]>): Promise<void> {
  for (let ids = await change(''); ids.length === PAGE; ids = await change(ids.at(-1) ?? '')) continue
}

/** Most builds of a pipeline have the same document. */
function cached(mask: (text: string) => string): (text: string) => string {
  let last: { readonly text: string; readonly masked: string } | undefined
  return (text) => {
    if (last?.text !== text) last = { text, masked: mask(text) }
    return last.masked
  }
}
