import { expect, test } from 'vitest'
import type { LogPart } from '../../store/builds/logs/log-objects.ts'
import { planPacks } from './packs.ts'

const MIB = 1_048_576

function partsOf(count: number, size: (n: number) => { bytes: number; rows: number }): LogPart[] {
  return Array.from({ length: count }, (_, n) => ({ object: `o${n}`, first: n + 1, last: n + 1, start: 0, ...size(n) }))
}

/** Returns the number of files after a merge. */
function left(parts: readonly LogPart[], isOver: boolean): number {
  const packs = planPacks(parts, isOver)
  return parts.length - packs.flat().length + packs.length
}

test.each([
  ['many lines', 35_000, () => ({ bytes: 60, rows: 1 })],
  ['a day of lines that were merged in hundreds', 8_000, () => ({ bytes: 6_000, rows: 256 })],
  ['frames of a mebibyte', 10_000, () => ({ bytes: MIB, rows: 1 })],
  ['frames of a quarter of a mebibyte', 40_000, () => ({ bytes: 262_144, rows: 1 })],
  [
    'alternating large and small files',
    20_000,
    (n: number) => (n % 2 === 0 ? { bytes: 8 * MIB, rows: 8 } : { bytes: 10, rows: 1 }),
  ],
  ['files just too large to share one', 5_000, () => ({ bytes: 4.1 * MIB, rows: 20_000 })],
  ['files of very many chunks', 3_000, () => ({ bytes: 200_000, rows: 20_000 })],
])('leaves at most 200 files of a log of %s', (_what, count, size) => {
  expect(left(partsOf(count, size), true)).toBeLessThanOrEqual(200)
})

test('does not merge a few large files or a few small files', () => {
  expect(
    planPacks(
      partsOf(100, () => ({ bytes: MIB, rows: 1 })),
      true,
    ),
  ).toEqual([])
  expect(
    planPacks(
      partsOf(10, () => ({ bytes: 10, rows: 1 })),
      true,
    ),
  ).toEqual([])
})

test('merges only small files while the build runs', () => {
  const parts = partsOf(400, (n) => ({ bytes: n < 200 ? MIB : 100, rows: 1 }))
  expect(planPacks(parts, false)).toEqual([parts.slice(200)])
})
