/** The cursor of a stream that no one has followed yet. */
import type { App } from '../../app.ts'
import { followAccount } from './account-changes.ts'
import { writeCursor } from './cursor.ts'

/**
 * Returns the cursor of a stream that continues here, so that no change of the account is missed between what a page reads first and the first event of its
 * stream. Undefined if the changes cannot be read now; the stream says `reset` then.
 */
export async function startCursor(app: App): Promise<string | undefined> {
  // The loop continues for a minute, and knows the changes until the stream is opened.
  using follower = followAccount(app, () => undefined)
  const { changes } = follower
  try {
    await follower.ready()
    return writeCursor({ account: { at: changes.readAt, loop: changes.id }, positions: new Map() })
  } catch (error) {
    if (!app.closing.aborted)
      app.log.warn({ err: error }, 'a session has no cursor, because the changes of the account cannot be read')
    return undefined
  }
}
