import { fault, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { apiRetry, type ApiRetryOptions } from './api-retry.ts'

/** Returns how often a call that always fails is made. */
async function triesOf(section: ApiRetryOptions['section'], error: Error): Promise<number> {
  let tries = 0
  const waits: number[] = []
  const clock = { ...systemClock, sleep: (ms: number) => Promise.resolve(void waits.push(ms)) }
  const again = apiRetry({ section, clock, signal: new AbortController().signal })
  const call = (): Promise<never> => {
    tries += 1
    return Promise.reject(error)
  }
  await expect(again(call)).rejects.toBe(error)
  expect(Math.max(0, ...waits)).toBeLessThanOrEqual(section.retry_backoff_max ?? 5_000)
  return tries
}

const away = fault('cluster-unreachable', { message: 'read ECONNRESET' })
const refused = fault('cluster-refused', { message: 'admission webhook "x" denied the request: timed out' })

test('an API server that does not answer is tried `retry_limit` times, and 30 times without it', async () => {
  expect(await triesOf({}, away)).toBe(30)
  expect(await triesOf({ retry_limit: 0 }, away)).toBe(30)
  expect(await triesOf({ retry_limit: 3, retry_backoff_max: 600 }, away)).toBe(3)
  expect(await triesOf({ retry_limit: 3 }, refused)).toBe(1)
})

test('`retry_limits` counts for errors with its text, before `retry_limit`', async () => {
  const retry_limits = { 'admission webhook': 4, ECONNRESET: 2 }
  expect(await triesOf({ retry_limit: 9, retry_limits }, refused)).toBe(4)
  expect(await triesOf({ retry_limit: 9, retry_limits }, away)).toBe(2)
})
