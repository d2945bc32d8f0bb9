import { expect, test } from 'vitest'
import { areaOf, byHour, mostOf } from './load-shape.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const sample = (at: number, running: number, waiting = 0) => ({ at, running, waiting, pairs: 0 })
const frame = { from: 0, to: 2 * HOUR, width: 240, height: 100, top: 10 }

test('draws steps of five minutes, and nothing while no server ran', () => {
  const samples = [sample(0, 5), sample(5 * MINUTE, 10), sample(HOUR, 2)]
  expect(areaOf(samples, frame, [() => 0, ({ running }) => running])).toBe(
    'M0 50L10 50L10 0L20 0L20 100L10 100L10 100L0 100ZM120 80L130 80L130 100L120 100Z',
  )
})

test('an area without a value is not drawn, and the last step ends at the edge', () => {
  expect(areaOf([sample(0, 5)], frame, [({ running }) => running, ({ running, waiting }) => running + waiting])).toBe('')
  expect(areaOf([sample(2 * HOUR - MINUTE, 5)], frame, [() => 0, ({ running }) => running])).toContain('L240 50')
})

test('the table has the greatest load of each hour, newest first', () => {
  const samples = [sample(0, 1, 4), sample(5 * MINUTE, 3, 0), sample(HOUR, 2)]
  expect(byHour(samples)).toEqual([sample(HOUR, 2), sample(0, 3, 4)])
  expect(mostOf(samples, ({ waiting }) => waiting)).toBe(4)
  expect(mostOf([], ({ waiting }) => waiting)).toBe(0)
})
