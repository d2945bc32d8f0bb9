import type { LogLine } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { addPart, filterRows, MOST_ROWS, NO_ROWS, toFile } from './log-rows.ts'

const lines = (count: number, text = 'line'): LogLine[] =>
  Array.from({ length: count }, (_, index) => ({
    pod: 'api',
    at: '2027-01-15T09:00:05.123456789Z',
    text: `${text} ${index + 1}`,
  }))

test('rows are numbered from the first one on, and a gap is a row of its own', () => {
  const first = addPart(NO_ROWS, { lines: lines(2) })
  const { rows } = addPart(first, { lines: lines(1, 'next'), gap: 'unsure' })
  expect(rows.map(({ number, text, gap }) => [number, text, gap])).toEqual([
    [1, 'line 1', undefined],
    [2, 'line 2', undefined],
    [3, '', 'unsure'],
    [4, 'next 1', undefined],
  ])
})

test('the oldest rows are dropped above the limits, of lines and of characters', () => {
  const many = addPart(addPart(NO_ROWS, { lines: lines(MOST_ROWS) }), { lines: lines(3, 'new') })
  expect(many.rows).toHaveLength(MOST_ROWS)
  expect(many).toMatchObject({ dropped: 3, rows: expect.arrayContaining([expect.objectContaining({ number: MOST_ROWS + 3 })]) })
  expect(many.rows[0]?.number).toBe(4)
  expect(many.chars).toBe(many.rows.reduce((sum, { text }) => sum + text.length, 0))
  const long = addPart(NO_ROWS, { lines: lines(3, 'x'.repeat(2_000_000)) })
  expect(long).toMatchObject({ dropped: 1, rows: [{ number: 2 }, { number: 3 }] })
})

test('a filter ignores case and colors, and keeps gaps', () => {
  const part = {
    lines: [
      { pod: 'api', text: '\u001B[31mERROR\u001B[0m: no' },
      { pod: 'api', text: 'fine' },
    ],
    gap: 'cut',
  } as const
  const { rows } = addPart(NO_ROWS, part)
  expect(filterRows(rows, 'error: NO').map(({ text, gap }) => gap ?? text)).toEqual(['cut', 'ERROR: no'])
  expect(filterRows(rows, ' ')).toBe(rows)
})

test('a file has the times of the nodes, and says what it does not have', () => {
  const rows = addPart(addPart(NO_ROWS, { lines: lines(1) }), { lines: lines(1, 'next'), gap: 'cut' })
  expect(toFile(rows, true)).toBe(
    [
      '# Only the newest lines of the log are in this file.',
      '2027-01-15T09:00:05.123456789Z line 1',
      '# Lines are missing here: more came at once than can be shown.',
      '2027-01-15T09:00:05.123456789Z next 1',
      '',
    ].join('\n'),
  )
  expect(toFile(addPart(NO_ROWS, { lines: [] }), false)).toBe('')
})
