/** Content of events that is stored separately: annotations and images. Rejected content must not block the events after it. */
import { defined, isRefusal } from '@windlass/kit'
import { sql } from 'kysely'
import type { App } from '../../app.ts'
import { isTransient } from '../../store/database/transient.ts'
import { record, type BuildEdit } from '../lifecycle/edit.ts'

/**
 * Runs `work` in a savepoint. If it is refused or the database rejects the content, it is rolled back and a notice is recorded in the feed. Throws
 * transient errors, so that the engine sends the event again.
 */
export async function applyContent(
  app: App,
  edit: BuildEdit,
  { type, step, work }: { type: string; step: string; work: () => Promise<void> },
): Promise<void> {
  const { query } = edit.tx
  await sql`savepoint content`.execute(query)
  try {
    await work()
  } catch (error) {
    if (isTransient(error)) throw error
    await sql`rollback to savepoint content`.execute(query)
    if (!isRefusal(error))
      app.log.error({ err: error, buildId: edit.build.id, type, step }, 'cannot store the content of an event')
    noteRefused(edit, step, isRefusal(error) ? error.message : `The content of the ${type} event could not be stored.`)
  }
  await sql`release savepoint content`.execute(query)
}

/** Records in the feed which content of an event the server did not store. */
export function noteRefused(edit: BuildEdit, step: string | undefined, message: string): void {
  record(edit, { type: 'notice', data: { level: 'warning', ...defined({ step }), message } })
}
