/** The loop of work that is stored in rows: each row is taken for a while by one server, and carried out beside others. */
import { attempt } from '@windlass/kit'
import type { App } from './app.ts'

export interface Taking<T> {
  /** Name of the loop in the log. */
  readonly what: string
  /** Topic that is woken when there is new work. */
  readonly topic: string
  /** Rows that are carried out at once, so that a slow one does not delay the others. */
  readonly atOnce: number
  /** Takes a row that is due; undefined if there is none. */
  readonly take: () => Promise<T | undefined>
  /** Carries out a row. Must not throw. */
  readonly carryOut: (taken: T) => Promise<void>
}

/** Takes rows as they become due until the server closes, then waits for those that are being carried out. */
export async function takeLoop<T>(app: App, { what, topic, atOnce, take, carryOut }: Taking<T>): Promise<void> {
  using watch = app.store.watch(topic)
  const open = new Set<Promise<void>>()
  while (!app.closing.aborted) {
    await attempt(app.log, what, async () => {
      for (let taken = await take(); taken !== undefined; taken = await take()) {
        const done = carryOut(taken).finally(() => open.delete(done))
        open.add(done)
        if (open.size >= atOnce) await Promise.race(open)
      }
    })
    await watch.next(app.timings.sweepMs, app.closing)
  }
  await Promise.all(open)
}
