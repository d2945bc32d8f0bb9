/** When API keys are used. */
import { attempt } from '@windlass/kit'
import type { App } from '../app.ts'
import { recordKeyUse } from '../store/account/api-keys.ts'
import { noteKeyUse as noteFirstKey } from './first-key.ts'

/** Minimum time between two records of the use of a key by one server. Milliseconds. */
const RECORD_MS = 30_000
const MAX_KEYS = 10_000

/** Returns what is called before each call with a key. A call is answered even if its time cannot be stored. */
export function openKeyUse(app: App): (id: string) => Promise<void> {
  const recorded = new Map<string, number>()
  return async (id) => {
    const now = app.clock.now()
    const last = recorded.get(id)
    if (last !== undefined && now >= last && now - last < RECORD_MS) return
    if (last === undefined) await noteFirstKey(app, id)
    if (recorded.size >= MAX_KEYS) recorded.clear()
    recorded.set(id, now)
    await attempt(app.log, 'record of the use of a key', () => app.store.write((tx) => recordKeyUse(tx, id, now)))
  }
}
