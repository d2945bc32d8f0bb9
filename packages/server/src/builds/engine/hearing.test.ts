import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { TIMINGS } from '../../open-app.ts'
import { heardMs, noteBreak, openHearing, type Hearing } from './hearing.ts'

const SECOND = 1000
const START = 1_000_000

function open(): {
  hearing: Hearing
  clock: ReturnType<typeof manualClock>
  pass: (seconds: number) => void
  fail: (seconds: number) => void
} {
  const clock = manualClock(START)
  const hearing = openHearing(clock, TIMINGS)
  return {
    hearing,
    clock,
    /** Sweeps succeed. */
    pass(seconds) {
      clock.advance(seconds * SECOND)
      hearing.heardAt = clock.now()
    },
    /** Sweeps fail, one per second. */
    fail(seconds) {
      for (let n = 0; n < seconds; n += 1) {
        clock.advance(SECOND)
        noteBreak({ hearing, clock, timings: TIMINGS })
      }
    },
  }
}

test('the time before the start and during breaks does not count', () => {
  const { hearing, clock, pass, fail } = open()
  expect(heardMs(hearing, START - 3_600_000, clock.now())).toBe(0)
  pass(100)
  fail(60)
  pass(100)
  fail(30)
  pass(10)
  expect(hearing.breaks).toHaveLength(2)
  expect(heardMs(hearing, START, clock.now())).toBe(210 * SECOND)
  expect(heardMs(hearing, START + 90 * SECOND, clock.now())).toBe(120 * SECOND)
  expect(heardMs(hearing, START + 120 * SECOND, clock.now())).toBe(110 * SECOND)
})

test('repeated failures within one lease are one break, and engines get a full lease after the last one', () => {
  const { hearing, clock, pass, fail } = open()
  pass(100)
  for (let n = 0; n < 5; n += 1) {
    fail(1)
    pass(20)
  }
  expect(hearing.breaks).toHaveLength(1)
  expect(heardMs(hearing, START, clock.now())).toBe(120 * SECOND)
  expect(hearing.judgeFrom - clock.monotonic()).toBe(TIMINGS.deadMs - 20 * SECOND)
})

test('a clock that is set back does not create a break of negative length', () => {
  const { hearing, clock, pass } = open()
  pass(100)
  clock.setNow(START)
  noteBreak({ hearing, clock, timings: TIMINGS })
  expect(hearing.breaks).toEqual([])
  pass(10)
  expect(heardMs(hearing, START, clock.now())).toBe(10 * SECOND)
})

test('only the newest 1000 breaks are kept, and the time before them does not count', () => {
  const { hearing, clock, pass, fail } = open()
  for (let n = 0; n < 1100; n += 1) {
    pass(100)
    fail(1)
  }
  expect(hearing.breaks.length).toBeLessThanOrEqual(1000)
  expect(heardMs(hearing, START, clock.now())).toBe(1000 * 100 * SECOND)
})
