import fc from 'fast-check'
import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../test/cpu-time.ts'
import { matchesPattern, PatternError } from './pattern.ts'

test('patterns match anchors, classes, groups, repetitions and flags as in JavaScript', () => {
  const cases: [string, string, string, boolean][] = [
    ['^FB-', 'i', 'fb-12', true],
    ['^FB-', '', 'fb-12', false],
    ['^(main|release/\\d+\\.\\d+)$', '', 'release/1.20', true],
    ['^v\\d{1,3}(\\.\\d{1,3}){2}$', '', 'v1.22.333', true],
    ['^v\\d{1,3}(\\.\\d{1,3}){2}$', '', 'v1.22.3333', false],
    ['[^/]+/[\\w-]+$', '', 'feature/a-b', true],
    ['\\bfix\\b', '', 'a fix here', true],
    ['\\bfix\\b', '', 'prefix', false],
    ['a.c', '', 'a\nc', false],
    ['a.c', 's', 'a\nc', true],
    ['^b', 'm', 'a\nb', true],
    ['^\\p{Lu}+$', 'u', 'ÄÖ', true],
    ['^.$', 'u', '😀', true],
    ['(?<name>x)y?z*', '', 'x', true],
    ['[\\]]', '', ']', true],
    ['', '', 'anything', true],
  ]
  for (const [source, flags, text, expected] of cases)
    expect([source, matchesPattern(source, flags, text)]).toEqual([source, expected])
})

test('look-ahead works, which branch filters use to exclude names', () => {
  expect(matchesPattern('^((?!master).)*$', 'gi', 'feature/one')).toBe(true)
  expect(matchesPattern('^((?!master).)*$', 'gi', 'my-MASTER-branch')).toBe(false)
  expect(matchesPattern('^(?=.*\\d)(?=.*[a-z]).+$', '', 'abc1')).toBe(true)
  expect(matchesPattern('^(?=.*\\d)(?=.*[a-z]).+$', '', 'abc')).toBe(false)
})

test('patterns that hang a backtracking matcher take linear time', () => {
  for (const source of ['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(.*)*x', '^(([a-z])+.)+[A-Z]([a-z])+$', '^(?:(?:a*)*)*b$']) {
    const match = (length: number): boolean => matchesPattern(source, '', `${'a'.repeat(length)}!`)
    expect(match(2_000)).toBe(false)
    expect(growth(250, match), source).toBeLessThan(LINEAR)
  }
})

test('reports invalid, unsupported and too expensive patterns', () => {
  const problem = (source: string, flags = '', text = 'x') => {
    try {
      matchesPattern(source, flags, text)
      return undefined
    } catch (error) {
      return error instanceof PatternError ? error.message : 'another error'
    }
  }
  expect(problem('(')).toMatch(/Unterminated group/)
  expect(problem('(a)\\1')).toBe('back-references are not supported')
  expect(problem('(?<=a)b')).toBe('look-behind is not supported')
  expect(problem('a', 'x')).toBe('unknown flags "x"')
  expect(problem('(((a{100}){100}){100})')).toMatch(/too large/)
  expect(problem('a'.repeat(5_000))).toMatch(/longer/)
  expect(problem('('.repeat(500) + ')'.repeat(500))).toMatch(/deep/)
  expect(problem('^(?:(?=(a|b|c|d)*e).)*$', '', `${'abcd'.repeat(5_000)}e`)).toMatch(/too expensive/)
})

test('matches random patterns and texts like the native engine', () => {
  const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\d', '\\b', '^', '$', '(?=a)', '(?!b)', '\\.')
  const { pattern } = fc.letrec<{ pattern: string; item: string }>((tie) => ({
    item: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      atom,
      fc
        .tuple(tie('pattern'), fc.constantFrom('', '*', '+', '?', '{2}', '{0,2}', '{1,}', '*?'))
        .map(([inner, times]) => `(?:${inner})${times}`),
      fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `(${left}|${right})`),
      tie('pattern').map((inner) => `(?!${inner})`),
    ),
    pattern: fc.array(tie('item'), { maxLength: 3 }).map((items) => items.join('')),
  }))
  const text = fc.array(fc.constantFrom('a', 'b', '1', '.', '\n', 'A'), { maxLength: 7 }).map((chars) => chars.join(''))
  fc.assert(
    fc.property(pattern, text, fc.constantFrom('', 'i', 's', 'm', 'im'), (source, subject, flags) => {
      expect(matchesPattern(source, flags, subject)).toBe(new RegExp(source, flags).test(subject))
    }),
    { numRuns: 1_500 },
  )
})
