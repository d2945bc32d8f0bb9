/** Reads over all builds that many views share, at most a second old. */
import type { App } from '../../app.ts'

const MAX_AGE_MS = 1000

interface Entry<T> {
  readonly at: number
  readonly value: Promise<T>
}

/** Returns a function that runs `read` at most once a second for each server, and shares the result. A failed read is not kept. */
export function recent<T>(read: (app: App) => Promise<T>): (app: App) => Promise<T> {
  const entries = new WeakMap<App['store'], Entry<T>>()
  return (app) => {
    const now = app.clock.monotonic()
    const known = entries.get(app.store)
    if (known !== undefined && now - known.at < MAX_AGE_MS) return known.value
    const value = read(app)
    entries.set(app.store, { at: now, value })
    value.catch(() => entries.delete(app.store))
    return value
  }
}
