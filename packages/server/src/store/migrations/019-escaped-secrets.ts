import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { maskStoredDocument } from '../../pipelines/mask-document.ts'
import { cached, forEachRow, maskBuildDocuments, PAGE } from './documents.ts'

/** Escapes that can spell a letter of a key in double quotes, or continue it on the next line. Most other backslashes are those of shells. */
const SPELLS = /\\[xuU\r\n]/

/**
 * Removes the values of encrypted variables of triggers that 017 has not found, because their key is spelled with escapes: `"encrypt\x65d"`. Settings are
 * stored as JSON without such escapes. Calls the code of the server for the reason that 017 gives.
 */
export const escapedSecrets: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const masked = cached((text) => (SPELLS.test(text) ? maskStoredDocument(text) : text))
    // The escape character makes the backslash an ordinary one on both databases.
    const backslash = sql`${'%\\%'} escape '|'`
    await forEachRow(async (after) => {
      const { rows } = await sql<{ id: string; document: string }>`
        select id, document from pipeline where id > ${after} and document like ${backslash} order by id limit ${PAGE}`.execute(
        db,
      )
      for (const { id, document } of rows) {
        const next = masked(document)
        if (next !== document) await sql`update pipeline set document = ${next} where id = ${id}`.execute(db)
      }
      return rows.map(({ id }) => id)
    })
    await maskBuildDocuments(db, backslash, masked)
  },
}
