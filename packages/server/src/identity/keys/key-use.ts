/** When API keys were last used. A use is stored at most every 30 seconds for each key and server, and no call waits for it. */
import { attempt } from '@windlass/kit'
import type { App } from '../../app.ts'
import { listMeta, putMeta } from '../../store/account/meta.ts'
import { KEY_USE } from '../../store/access/api-keys.ts'
import type { Query } from '../../store/store.ts'

const STORE_EVERY_MS = 30_000
const MAX_NOTED = 10_000

/** Returns a function that notes a use of a key. It returns at once: a use that cannot be stored is lost. */
export function openKeyUses(app: App): (id: string) => void {
  const stored = new Map<string, number>()
  return (id) => {
    const now = app.clock.now()
    const before = stored.get(id)
    if (before !== undefined && now - before < STORE_EVERY_MS && now >= before) return
    if (stored.size >= MAX_NOTED) stored.clear()
    stored.set(id, now)
    if (!app.closing.aborted)
      void attempt(app.log, 'use of a key', () => app.store.write((tx) => putMeta(tx, KEY_USE + id, String(now))))
  }
}

/** Returns the time of the latest stored use of each key. Epoch milliseconds. */
export async function readKeyUses(query: Query): Promise<ReadonlyMap<string, number>> {
  const rows = await listMeta(query, KEY_USE)
  return new Map(rows.map(({ key, value }) => [key.slice(KEY_USE.length), Number(value)]))
}
