import { expect, test } from 'vitest'
import { manualClock } from './clock.ts'
import { fault } from './faults.ts'
import { backoffMs, pauseMs, retry } from './retry.ts'

const settings = { baseMs: 100, maxMs: 1000 }

test('delays grow up to the maximum and have jitter', () => {
  expect([1, 2, 3, 4, 5, 50].map((n) => backoffMs(settings, n, () => 1))).toEqual([100, 200, 400, 800, 1000, 1000])
  expect(backoffMs(settings, 3, () => 0)).toBe(200)
})

test('retries until the work succeeds, with a delay before each retry', async () => {
  const clock = manualClock()
  let calls = 0
  const done = retry({ ...settings, clock }, async () => {
    calls += 1
    if (calls < 3) throw new Error('not yet')
    return calls
  })
  for (let n = 0; n < 5; n += 1) {
    await Promise.resolve().then(() => undefined)
    await new Promise(setImmediate)
    clock.advance(1000)
  }
  expect(await done).toBe(3)
})

test('throws the last error after the last try, and at once for an error that is not retryable', async () => {
  const failing = async (n: number): Promise<never> => {
    throw new Error(`try ${n}`)
  }
  const clock = { ...manualClock(), sleep: async () => undefined }
  await expect(retry({ ...settings, clock, tries: 3 }, failing)).rejects.toThrow('try 3')
  await expect(retry({ ...settings, clock, retryIf: () => false }, failing)).rejects.toThrow('try 1')
})

test('an aborted signal ends the delay', async () => {
  const controller = new AbortController()
  const waiting = retry({ ...settings, clock: manualClock(), signal: controller.signal }, async () => {
    throw new Error('never')
  })
  await new Promise(setImmediate)
  controller.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
})

test('the delay follows Retry-After, up to one minute', () => {
  const asked = (retryAfter: number): Error => fault('rate-limited', { retryAfter })
  expect(pauseMs(settings, 1, asked(50))).toBe(50_000)
  expect(pauseMs(settings, 1, asked(3_600))).toBe(60_000)
  expect(pauseMs(settings, 1, asked(0))).toBeLessThanOrEqual(100)
  expect(pauseMs(settings, 1, new Error('away'))).toBeLessThanOrEqual(100)
})

test('retries no sooner than Retry-After says', async () => {
  const clock = manualClock()
  const pauses: number[] = []
  const onRetry = (_error: unknown, delayMs: number): void => void pauses.push(delayMs)
  const done = retry({ ...settings, clock, onRetry }, async (n) => {
    if (n === 1) throw fault('rate-limited', { retryAfter: 50 })
    return n
  })
  await new Promise(setImmediate)
  clock.advance(50_000)
  expect(await done).toBe(2)
  expect(pauses).toEqual([50_000])
})
