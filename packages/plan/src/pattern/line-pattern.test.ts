import fc from 'fast-check'
import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../test/cpu-time.ts'
import { compileLinePattern } from './line-pattern.ts'
import { PatternError } from './pattern-error.ts'

/** Returns the lines that match, by number. */
function linesOf(source: string, flags: string, text: string): number[] {
  const pattern = compileLinePattern(source, flags)
  const found: number[] = []
  for (let at = pattern.nextLine(text, 0); at >= 0;) {
    found.push(text.slice(0, at).split('\n').length - 1)
    const end = text.indexOf('\n', at)
    at = end < 0 ? -1 : pattern.nextLine(text, end + 1)
  }
  return found
}

test('finds the lines that match, with anchors and word boundaries of each line', () => {
  const text = 'one error\nerror: two\nerrors\n\nthe end\r\nlast error'
  expect(linesOf('error', '', text)).toEqual([0, 1, 2, 5])
  expect(linesOf('^error', '', text)).toEqual([1, 2])
  expect(linesOf('error$', '', text)).toEqual([0, 5])
  expect(linesOf('\\berror\\b', '', text)).toEqual([0, 1, 5])
  expect(linesOf('^$', '', text)).toEqual([3])
  expect(linesOf('END', 'i', text)).toEqual([4])
  expect(linesOf('', '', 'a\nb\n')).toEqual([0, 1])
  expect(linesOf('x', '', '')).toEqual([])
})

test('returns the first and longest matches of a line, without overlap', () => {
  const matches = (source: string, line: string, flags = '') => compileLinePattern(source, flags).matchesIn(line)
  expect(matches('\\d+', 'a12b345')).toEqual([
    [1, 3],
    [4, 7],
  ])
  expect(matches('a|ab', 'xabab')).toEqual([
    [1, 3],
    [3, 5],
  ])
  expect(matches('aa', 'aaaaa')).toEqual([
    [0, 2],
    [2, 4],
  ])
  expect(matches('x*', 'axx')).toEqual([[1, 3]])
  expect(matches('$', 'abc')).toEqual([[3, 3]])
  expect(matches('.', 'a😀', 'u')).toEqual([
    [0, 1],
    [1, 3],
  ])
  expect(matches('z', 'abc')).toEqual([])
})

const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', 'ä', '\\w', '\\b', '^', '$', '\\s', '\\d')
const pattern = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    atom,
    fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => a + b),
    fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(?:${a}|${b})`),
    fc.tuple(tie('expression'), fc.constantFrom('*', '+', '?', '{2}')).map(([a, repeat]) => `(?:${a})${repeat}`),
  ),
})).expression
const line = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', 'ä', '1', '\r', '😀'), maxLength: 12 })

test('finds the same lines and the same first starts as the native engine', () => {
  fc.assert(
    fc.property(
      pattern,
      fc.constantFrom('', 'i', 's', 'u', 'iu'),
      fc.array(line, { minLength: 1, maxLength: 6 }),
      (source, flags, lines) => {
        const native = new RegExp(source, flags)
        const expected = lines.flatMap((one, index) => (native.test(one) ? [index] : []))
        expect(linesOf(source, flags, lines.map((one) => `${one}\n`).join(''))).toEqual(expected)
        for (const index of expected) {
          const one = lines[index] ?? ''
          const [first] = compileLinePattern(source, flags).matchesIn(one)
          const start = native.exec(one)?.index ?? -1
          // A first match that is empty is left out if the line has others.
          if (first !== undefined && first[1] > first[0]) expect(first[0]).toBeGreaterThanOrEqual(start)
          else expect(first?.[0]).toBe(start)
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('patterns that hang a backtracking matcher take linear time', () => {
  for (const source of ['^(a+)+$', '^(a|a)*$', '(.*)*x', '^(([a-z])+.)+[A-Z]([a-z])+$']) {
    const read = (length: number): number => compileLinePattern(source, '').nextLine(`${'a'.repeat(length)}!`, 0)
    expect(read(20_000)).toBe(-1)
    expect(growth(20_000, read), source).toBeLessThan(LINEAR)
  }
})

test('reports patterns with too many states, and unsupported ones', () => {
  let seed = 1
  const bits = Array.from({ length: 60_000 }, () => {
    seed = (seed * 16_807) % 2_147_483_647
    return seed > 1_073_741_823 ? 'a' : 'b'
  }).join('')
  expect(() => compileLinePattern('(a|b)*a(a|b){40}c', '').nextLine(bits, 0)).toThrow(PatternError)
  for (const source of ['(?!a)b', '(?<=a)b', '(a)\\1', '(']) expect(() => compileLinePattern(source, '')).toThrow(PatternError)
})
