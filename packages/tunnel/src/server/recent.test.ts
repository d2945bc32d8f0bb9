import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { Recent } from './recent.ts'

test('a value is known for its time, and keys that never come again are forgotten', () => {
  const clock = manualClock(0)
  const recent = new Recent<number>(clock, 3_000)
  for (let n = 0; n < 10_000; n += 1) {
    recent.note(`runtime-${n}`, n)
    recent.note('again', n)
    clock.advance(1_000)
  }
  expect(recent.size).toBe(4)
  expect(['again', 'runtime-9999', 'runtime-9998', 'runtime-9997', 'runtime-0'].map((key) => recent.get(key))).toEqual([
    9_999,
    9_999,
    9_998,
    undefined,
    undefined,
  ])
  recent.delete('again')
  expect(recent.get('again')).toBeUndefined()
})
