import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Fold } from '../lines/marks.ts'
import { Segments } from './segments.ts'

const LINES = 60
const folds = fc.array(
  fc.tuple(fc.nat(LINES - 1), fc.nat(LINES - 1)).map(([a, b]): Fold => ({ from: Math.min(a, b), to: Math.max(a, b) })),
)

test('rows are the lines that no closed fold hides, in order (W061)', () => {
  fc.assert(
    fc.property(folds, (closed) => {
      const segments = new Segments(LINES, closed)
      const shown = Array.from({ length: LINES }, (_, line) => line).filter(
        (line) => !closed.some(({ from, to }) => line > from && line <= to),
      )
      expect(segments.rows).toBe(shown.length)
      expect(shown.map((_, row) => segments.lineOf(row))).toEqual(shown)
      for (let line = 0; line < LINES; line += 1) {
        expect(segments.isHidden(line)).toBe(!shown.includes(line))
        expect(segments.rowOf(line)).toBe(shown.findLastIndex((one) => one <= line))
      }
    }),
  )
})
