import { expect, test } from 'vitest'
import { manualClock, systemClock } from './clock.ts'

test.each([
  ['the system clock', systemClock],
  ['a manual clock', manualClock()],
])('%s rejects a sleep whose signal is already aborted', async (_, clock) => {
  const reason = new Error('over')
  await expect(clock.sleep(1_000_000, AbortSignal.abort(reason))).rejects.toBe(reason)
})
