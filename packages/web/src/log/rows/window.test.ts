import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  afterBar,
  clamp,
  endOf,
  isAtOrAfter,
  moveBy,
  reveal,
  rowsInView,
  spacerHeight,
  toBar,
  MAX_SPACER,
  ROW_HEIGHT,
  TOP,
  type Geometry,
} from './window.ts'

function geometryOf(rows: number, view = 700, heightOf: (row: number) => number = () => ROW_HEIGHT): Geometry {
  return { rows, view, heightOf, average: ROW_HEIGHT }
}

/** Rows of one to five lines. */
const uneven = (row: number): number => ROW_HEIGHT * (1 + (row % 5))
const geometries = fc
  .record({ rows: fc.nat(2_000_000), view: fc.integer({ min: 20, max: 2_000 }), isUneven: fc.boolean() })
  .map(({ rows, view, isUneven }) => geometryOf(rows + 1, view, isUneven ? uneven : undefined))
/** Position of an anchor in pixels, without the code under test. */
function pixels(anchor: { row: number; offset: number }, geometry: Geometry): number {
  let sum = anchor.offset
  for (let row = 0; row < anchor.row; row += 1) sum += geometry.heightOf(row)
  return sum
}

test('the bar of a million lines is shorter than the longest element of a browser', () => {
  expect(spacerHeight(geometryOf(1_000_000))).toBe(MAX_SPACER)
  expect(spacerHeight(geometryOf(100))).toBe(2_000)
})

test('a bar at its start shows the first row, and one at its end the last one', () => {
  fc.assert(
    fc.property(geometries, (geometry) => {
      const length = Math.max(0, spacerHeight(geometry) - geometry.view)
      expect(toBar(TOP, geometry)).toBe(0)
      expect(toBar(endOf(geometry), geometry)).toBe(endOf(geometry).row === 0 && endOf(geometry).offset === 0 ? 0 : length)
      if (length < 3 * geometry.view) return
      expect(afterBar(TOP, { from: 0, to: length }, geometry)).toEqual(endOf(geometry))
      expect(rowsInView(endOf(geometry), geometry).last).toBe(geometry.rows - 1)
    }),
  )
})

test('an anchor and its bar agree: a jump to the bar of an anchor leads to its row (W047)', () => {
  fc.assert(
    fc.property(geometries, fc.double({ min: 0, max: 1, noNaN: true }), (geometry, share) => {
      const anchor = clamp({ row: Math.floor(share * (geometry.rows - 1)), offset: 0 }, geometry)
      const bar = toBar(anchor, geometry)
      if (bar < 3 * geometry.view) return
      const found = afterBar(TOP, { from: 0, to: bar }, geometry)
      expect(Math.abs(found.row - anchor.row)).toBeLessThanOrEqual(1)
    }),
  )
})

test('small steps of the bar move by their pixels, also in rows of different heights (W047)', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -600, max: 600 }), { maxLength: 50 }), (steps) => {
      const geometry = geometryOf(10_000, 700, uneven)
      let anchor = { row: 5_000, offset: 0 }
      const start = pixels(anchor, geometry)
      let bar = 4_000_000
      for (const step of steps) {
        anchor = afterBar(anchor, { from: bar, to: bar + step }, geometry)
        bar += step
      }
      expect(pixels(anchor, geometry)).toBe(start + steps.reduce((sum, step) => sum + step, 0))
    }),
  )
})

test('a movement never leaves the rows', () => {
  fc.assert(
    fc.property(geometries, fc.integer({ min: -3_000, max: 3_000 }), (geometry, step) => {
      for (const anchor of [TOP, endOf(geometry)]) {
        const moved = moveBy(anchor, step, geometry)
        expect(moved.row).toBeGreaterThanOrEqual(0)
        expect(moved.offset).toBeGreaterThanOrEqual(0)
        expect(isAtOrAfter(endOf(geometry), moved)).toBe(true)
      }
    }),
  )
})

test('a row that is asked for is in view', () => {
  fc.assert(
    fc.property(geometries, fc.double({ min: 0, max: 1, noNaN: true }), (geometry, share) => {
      const row = Math.floor(share * (geometry.rows - 1))
      const { first, last } = rowsInView(reveal(row, TOP, geometry), geometry)
      expect(row).toBeGreaterThanOrEqual(first)
      expect(row).toBeLessThanOrEqual(last)
    }),
  )
})

test('a row in view stays where it is', () => {
  const anchor = { row: 100, offset: 7 }
  expect(reveal(110, anchor, geometryOf(1_000))).toEqual(anchor)
})
