import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldsOf, markerOf, type Fold } from './folds.ts'
import { Segments } from './segments.ts'

const LINES = 60
const folds = fc.array(
  fc.tuple(fc.nat(LINES - 1), fc.nat(LINES - 1)).map(([a, b]): Fold => ({ from: Math.min(a, b), to: Math.max(a, b), title: '' })),
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

function foldsIn(lines: readonly string[]): string[] {
  const markers = lines.map(markerOf).filter((marker) => marker !== undefined)
  return foldsOf(markers, lines.length - 1).map(({ from, to, title }) => `${from}-${to} ${title}`)
}

test.each([
  ['groups', ['a', '::group::Install', 'b', '::endgroup::', 'c'], ['1-3 Install']],
  ['groups of another spelling', ['##[group]Install', 'b', '##[endgroup]'], ['0-2 Install']],
  [
    'groups within groups',
    ['::group::Outer', '::group::Inner', 'a', '::endgroup::', 'b', '::endgroup::'],
    ['0-5 Outer', '1-3 Inner'],
  ],
  ['sections', ['section_start:1:build[collapsed=true]Build it', 'a', 'section_end:2:build'], ['0-2 Build it']],
  ['sections without a title', ['section_start:1:build', 'a', 'section_end:2:build'], ['0-2 build']],
  ['sections that overlap', ['section_start:1:a', 'section_start:1:b', 'section_end:1:a', 'section_end:1:b'], ['0-2 a']],
  ['folds', ['travis_fold:start:install', 'a', 'travis_fold:end:install'], ['0-2 install']],
  ['headings', ['--- One', 'a', '+++ Two', 'b', 'c', '~~~ Three', 'd'], ['0-1 One', '2-4 Two', '5-6 Three']],
  ['a group in a heading', ['--- One', '::group::g', 'a', '::endgroup::', '--- Two', 'b'], ['0-3 One', '1-3 g', '4-5 Two']],
  ['an end without a start', ['a', '::endgroup::'], []],
  ['a start without an end', ['::group::Open', 'a'], []],
  ['a diff and a table', ['--- a/file', '+++ b/file', '-----', 'x --- y'], []],
])('finds %s (W061)', (_, lines, expected) => {
  expect(foldsIn(lines)).toEqual(expected)
})
