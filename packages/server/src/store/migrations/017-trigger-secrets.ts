import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { maskStoredDocument, stringifyMasked } from '../../pipelines/mask-document.ts'
import { cached, forEachRow, maskBuildDocuments, PAGE } from './documents.ts'

/**
 * Removes the values of encrypted variables of triggers, which earlier versions stored in plain text: in the documents and settings of pipelines, and in the
 * documents of builds. 019 finds those whose key is spelled with escapes.
 *
 * This migration calls the code of the server, other migrations use a copy. Only the parser of the language reads documents as the server does, with its
 * limits for hostile ones, and a value that the server of an upgrade takes for a secret must not stay in its database. A change of `maskStoredDocument`
 * must still mask every value of a trigger, which `migrations.test.ts` shows.
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
    await maskBuildDocuments(db, sql`'%encrypted%'`, masked)
  },
}
