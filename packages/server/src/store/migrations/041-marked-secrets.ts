import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { maskStoredDocument } from '../../pipelines/mask-document.ts'
import { mayBePipeline } from '../../pipelines/settings.ts'
import { cached, forEachRow, maskBuildDocuments, PAGE } from './documents.ts'

/** Documents that earlier versions took for a `kind: pipeline` document, so that their encrypted variables are not in the text. */
const WAS_PIPELINE = /(?:^|[{,])[ \t]*["']?kind["']?\s*:/m

/**
 * Removes the values of encrypted variables of documents whose `kind` earlier versions did not find: after a byte order mark, an anchor, a tag or `?`, or
 * spelled with escapes. Builds have ignored these variables, so their values are not sealed anywhere. Calls the code of the server for the reason that 017
 * gives.
 */
export const markedSecrets: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const masked = cached((text) => (WAS_PIPELINE.test(text) || !mayBePipeline(text) ? text : maskStoredDocument(text)))
    // The escape character makes the backslash an ordinary one on both databases.
    for (const pattern of [sql`'%encrypted%'`, sql`${'%\\%'} escape '|'`]) {
      await forEachRow(async (after) => {
        const { rows } = await sql<{ id: string; document: string }>`
          select id, document from pipeline where id > ${after} and document like ${pattern} order by id limit ${PAGE}`.execute(
          db,
        )
        for (const { id, document } of rows) {
          const next = masked(document)
          if (next !== document) await sql`update pipeline set document = ${next} where id = ${id}`.execute(db)
        }
        return rows.map(({ id }) => id)
      })
      await maskBuildDocuments(db, pattern, masked)
    }
  },
}
