/** What a user leaves in the storage of the browser. Another user of the same browser must not find it. */
import type { Session } from '@windlass/protocol'

export const RECENTS_KEY = 'windlass.recents'
const USER_KEY = 'windlass.user'

/** Returns the id of the user or key of a session. Names are not unique: a key can have the name of a user. */
export function idOf({ user, key }: Pick<Session, 'user' | 'key'>): string {
  return user?.id ?? key?.id ?? ''
}

/** Removes the unsaved documents of this tab and the last choices if another user left them. Called with each session that the page reads or starts. */
export function keepOwn(session: Pick<Session, 'user' | 'key'>): void {
  const id = idOf(session)
  try {
    if (isOfAnother(sessionStorage, id)) sessionStorage.clear()
    if (isOfAnother(localStorage, id)) localStorage.removeItem(RECENTS_KEY)
    for (const storage of [sessionStorage, localStorage]) storage.setItem(USER_KEY, id)
  } catch {
    // Storage is full or blocked.
  }
}

function isOfAnother(storage: Storage, id: string): boolean {
  const before = storage.getItem(USER_KEY)
  return before !== null && before !== id
}
