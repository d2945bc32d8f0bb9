/** What a user leaves in the storage of the browser. Another user of the same browser must not find it. */
import type { Session } from '@windlass/protocol'

export const RECENTS_KEY = 'windlass.recents'
const USER_KEY = 'windlass.user'

/** Removes the unsaved documents of this tab and the last choices if another user left them. Called with each session that the page reads or starts. */
export function keepOwn({ user, key }: Pick<Session, 'user' | 'key'>): void {
  const id = user?.id ?? key?.id ?? ''
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
