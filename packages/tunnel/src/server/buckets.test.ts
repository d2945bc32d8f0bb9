import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { Buckets, slowdown } from './buckets.ts'

test('a caller gets its burst at once, then the rate, and others have their own', () => {
  const clock = manualClock(0)
  const buckets = new Buckets(clock, { perSecond: 2, burst: 3 })
  expect([1, 2, 3].map(() => buckets.take('a'))).toEqual([0, 0, 0])
  expect(buckets.take('a')).toBe(1)
  expect(buckets.take('b')).toBe(0)
  clock.advance(500)
  expect(buckets.take('a')).toBe(0)
  expect(buckets.take('a')).toBe(1)
})

test('a slow rate says how long to wait', () => {
  const buckets = new Buckets(manualClock(0), { perSecond: 0.1, burst: 1 })
  expect([buckets.take('a'), buckets.take('a')]).toEqual([0, 10])
})

test('bytes above a second of the bandwidth wait', () => {
  const clock = manualClock(0)
  const pauseFor = slowdown(clock, 1000)
  expect([pauseFor(1000), pauseFor(500), pauseFor(500)]).toEqual([0, 500, 1000])
  clock.advance(2000)
  expect(pauseFor(100)).toBe(0)
})
