import { setTimeout as sleep } from 'node:timers/promises'

/** A busy machine starts and ends pods slowly. Milliseconds. */
const PATIENCE_MS = 180_000

/**
 * Polls until the result is not undefined. Throws with `what` after the timeout. The pause is three times as long as a poll, from 100 to 400 ms, because
 * tests that poll with a process would otherwise use most of a processor.
 */
export async function eventually<T>(what: string, ask: () => Promise<T | undefined>, timeoutMs = PATIENCE_MS): Promise<T> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const began = performance.now()
    const answer = await ask()
    if (answer !== undefined) return answer
    const now = performance.now()
    if (now > end) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(Math.min(400, Math.max(100, 3 * (now - began))))
  }
}
