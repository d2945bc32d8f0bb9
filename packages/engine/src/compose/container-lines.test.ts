import { expect, test } from 'vitest'
import { ContainerLines } from './container-lines.ts'

const text = (parts: readonly { readonly bytes: Buffer }[]): string =>
  Buffer.concat(parts.map(({ bytes }) => bytes)).toString('utf8')
const out = (value: string) => [{ source: 1 as const, bytes: Buffer.from(value) }]

test('prefixes each line with its container for any chunking', () => {
  const lines = new ContainerLines('db_1  | ')
  expect(text(lines.push(out('one\ntw')))).toBe('db_1  | one\n')
  expect(text(lines.push(out('o\n\nthree')))).toBe('db_1  | two\ndb_1  | \n')
  expect(text(lines.end())).toBe('db_1  | three\n')
  expect(lines.end()).toEqual([])
  expect(lines.last).toEqual(['one', 'two', 'three'])
})

test('splits endless lines and keeps only the last lines', () => {
  const lines = new ContainerLines('x | ')
  expect(text(lines.push(out('a'.repeat(200_000)))).length).toBe(3 * (65_536 + 5))
  lines.push(out('\n\u001b[31mred\u001b[0m\r\n'))
  expect(lines.last.at(-1)).toBe('red')
  for (let n = 0; n < 30; n += 1) lines.push(out(`line ${n}\n`))
  expect(lines.last).toHaveLength(10)
  expect(lines.last.at(-1)).toBe('line 29')
})
