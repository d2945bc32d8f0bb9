import { expect, test } from 'vitest'
import { forecastFull } from './system.ts'

const HOUR = 3_600_000

function grow(hours: number, bytesPerHour: number): { at: number; usedBytes: number }[] {
  return Array.from({ length: hours + 1 }, (_, hour) => ({ at: hour * HOUR, usedBytes: 1000 + hour * bytesPerHour }))
}

test('forecasts when a disk is full from the growth of its use', () => {
  expect(forecastFull(grow(48, 10), 1480 + 100)).toBe(10 * HOUR)
  const wavy = grow(48, 10).map(({ at, usedBytes }, index) => ({ at, usedBytes: usedBytes + (index % 2 === 0 ? 3 : -3) }))
  expect(forecastFull(wavy, 2480) ?? 0).toBeGreaterThan(95 * HOUR)
  expect(forecastFull(wavy, 2480) ?? Infinity).toBeLessThan(105 * HOUR)
  expect(forecastFull(grow(48, 10), 1000)).toBe(0)
})

test('forecasts nothing if the use does not grow, shrinks, is not known for a day, or lasts for decades', () => {
  expect(forecastFull([], 5000)).toBeUndefined()
  expect(forecastFull(grow(23, 10), 5000)).toBeUndefined()
  expect(forecastFull(grow(48, 0), 5000)).toBeUndefined()
  expect(forecastFull(grow(48, -10), 5000)).toBeUndefined()
  expect(forecastFull(grow(48, 1), 1_000_000)).toBeUndefined()
})
