/** Messages as a resource: what is to be sent, what was, and why not. */
import type { MessageQuery, OutgoingMessage } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { present } from '../builds/lifecycle/view.ts'
import { findMessage, listMessages, repeatMessage } from '../store/messages.ts'
import type { MessageRow } from '../store/schema/schema.ts'
import type { Within } from '../store/store.ts'

/** Lists messages, newest first, with the cursor of the next page. */
export async function listMessagePage(
  app: App,
  { state, kind, build, cursor, limit }: z.output<typeof MessageQuery>,
): Promise<{ readonly items: OutgoingMessage[]; readonly next?: string }> {
  const rows = await listMessages(app.store.query, {
    accountId: app.accountId,
    state,
    kind,
    buildId: build,
    before: cursor,
    limit,
  })
  const last = rows.length === limit ? rows.at(-1) : undefined
  return { items: rows.map(toMessage), ...(last !== undefined && { next: last.id }) }
}

/** Returns a message. Throws `not-found`. */
export async function showMessage(app: App, id: string): Promise<OutgoingMessage> {
  return toMessage(requireFound(await findMessage(app.store.query, app.accountId, id), `message ${id}`))
}

/** Sends a message again, also one that was given up. `within` runs in the same transaction. Throws `not-found`. */
export async function retryMessage(app: App, id: string, within?: Within<OutgoingMessage>): Promise<OutgoingMessage> {
  return app.store.write(async (tx) => {
    await repeatMessage(tx, { accountId: app.accountId, id, now: app.clock.now() })
    const shown = toMessage(requireFound(await findMessage(tx.query, app.accountId, id), `message ${id}`))
    await within?.(tx, shown)
    return shown
  })
}

function toMessage(row: MessageRow): OutgoingMessage {
  return {
    id: row.id,
    kind: row.kind,
    subject: row.subject,
    state: row.state,
    tries: row.tries,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...present({ build: row.build_id, problem: row.problem, nextAt: row.next_at, sentAt: row.sent_at }),
  }
}
