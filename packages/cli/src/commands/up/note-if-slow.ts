import type { Clock } from '@windlass/kit'

/** Time after which a user is told what the command waits for. Milliseconds. */
const SLOW_MS = 2_000

/** Returns the result of `work`. Calls `note` once if it takes longer than two seconds. */
export async function noteIfSlow<T>(clock: Clock, work: Promise<T>, note: () => void): Promise<T> {
  const over = new AbortController()
  const noting = clock.sleep(SLOW_MS, over.signal).then(note, () => undefined)
  try {
    return await work
  } finally {
    over.abort()
    await noting
  }
}
