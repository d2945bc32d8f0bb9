import { expect, test } from 'vitest'
import { manualClock } from './clock.ts'
import { backoffMs, retry } from './retry.ts'

const settings = { baseMs: 100, maxMs: 1000 }

test('pauses grow to the longest one, and never come in step', () => {
  expect([1, 2, 3, 4, 5, 50].map((n) => backoffMs(settings, n, () => 1))).toEqual([100, 200, 400, 800, 1000, 1000])
  expect(backoffMs(settings, 3, () => 0)).toBe(200)
})

test('work is repeated until it succeeds, after a pause each time', async () => {
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

test('the last error is thrown when tries are used up, or when another try cannot help', async () => {
  const failing = async (n: number): Promise<never> => {
    throw new Error(`try ${n}`)
  }
  const clock = { ...manualClock(), sleep: async () => undefined }
  await expect(retry({ ...settings, clock, tries: 3 }, failing)).rejects.toThrow('try 3')
  await expect(retry({ ...settings, clock, retryIf: () => false }, failing)).rejects.toThrow('try 1')
})

test('an aborted signal ends the waiting', async () => {
  const controller = new AbortController()
  const waiting = retry({ ...settings, clock: manualClock(), signal: controller.signal }, async () => {
    throw new Error('never')
  })
  await new Promise(setImmediate)
  controller.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
})
