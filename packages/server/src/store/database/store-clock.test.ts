import { manualClock, type ManualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openStoreClock } from './store-clock.ts'

/** Returns a clock that is off by `ms` and otherwise follows the given one. */
function offBy(ms: number, clock: ManualClock): ManualClock {
  return { ...clock, now: () => clock.now() + ms }
}

test('gives processes whose clocks differ by a minute the time of their database', async () => {
  const database = manualClock(1_000_000)
  const read = async (): Promise<number> => database.now()
  const clocks = [60_000, -60_000, 0].map((ms) => openStoreClock(offBy(ms, database), read))
  for (const clock of clocks) await clock.measure()
  database.advance(5000)
  expect(clocks.map((clock) => clock.now())).toEqual([1_005_000, 1_005_000, 1_005_000])
})

test('ignores a jump of the process clock and follows one of the database at the next reading', async () => {
  const process = manualClock(0)
  let databaseTime = 1_000_000
  const clock = openStoreClock(process, async () => databaseTime)
  await clock.measure()
  process.setNow(99_000_000)
  process.advance(1000)
  expect(clock.now()).toBe(1_001_000)
  databaseTime = 2_000_000
  await clock.measure()
  expect(clock.now()).toBe(2_000_000)
})

test('ignores differences smaller than the latency and assumes that a reading is from the middle of the round trip', async () => {
  const process = manualClock(0)
  let databaseTime = 1_000_000
  let latencyMs = 0
  const clock = openStoreClock(process, async () => {
    process.advance(latencyMs)
    return databaseTime
  })
  await clock.measure()
  latencyMs = 200
  databaseTime = 1_000_050
  await clock.measure()
  expect(clock.now()).toBe(1_000_200)
  databaseTime = 1_010_000
  await clock.measure()
  expect(clock.now()).toBe(1_010_100)
})

test('continues the time while the database does not answer', async () => {
  const process = manualClock(0)
  let isAway = false
  const clock = openStoreClock(process, async () => {
    if (isAway) throw new Error('away')
    return 1_000_000
  })
  await clock.measure()
  isAway = true
  process.advance(60_000)
  await expect(clock.measure()).rejects.toThrow('away')
  expect(clock.now()).toBe(1_060_000)
})

test('uses the process clock if the database has no clock', async () => {
  const process = manualClock(7)
  const clock = openStoreClock(process, undefined)
  await clock.measure()
  process.setNow(9)
  expect(clock.now()).toBe(9)
})
