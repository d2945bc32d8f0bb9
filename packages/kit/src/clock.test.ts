import { expect, test } from 'vitest'
import { manualClock, systemClock } from './clock.ts'

test.each([
  ['the system clock', systemClock],
  ['a manual clock', manualClock()],
])('%s rejects a sleep whose signal is already aborted', async (_, clock) => {
  const reason = new Error('over')
  await expect(clock.sleep(1_000_000, AbortSignal.abort(reason))).rejects.toBe(reason)
})

test('the system clock sleeps for longer than a timer of Node can', async () => {
  const stop = new AbortController()
  const reason = new Error('over')
  const asleep = systemClock.sleep(2 ** 32, stop.signal)
  await systemClock.sleep(5)
  stop.abort(reason)
  await expect(asleep).rejects.toBe(reason)
})
