import fc from 'fast-check'
import { expect, test } from 'vitest'
import { evaluate, ExpressionError, isTruthy, parseExpression } from './expression.ts'
import type { ExpressionScope, Value } from './expression.ts'
import { EXPRESSION_FUNCTIONS } from './functions.ts'

const STEPS: Record<string, string> = {
  'steps.a.result': 'failure',
  'steps.b.result': 'success',
  'a.result': 'failure',
  'steps.my-step.result': 'success',
  'my-step.result': 'success',
  'steps.a.output.X': 'exported',
  'workflow.result': 'running',
}

function scopeOf(values: Record<string, string> = {}): ExpressionScope {
  const all: Record<string, string> = { ...STEPS, ...values }
  return {
    lookup: (name) => (Object.hasOwn(all, name) ? all[name] : undefined),
    isStep: (name) => ['a', 'b', 'my-step'].includes(name),
  }
}

function value(text: string, values: Record<string, string> = {}): Value {
  return evaluate(parseExpression(text), scopeOf(values))
}

function problem(text: string, values: Record<string, string> = {}): string {
  try {
    value(text, values)
    return 'no problem'
  } catch (error) {
    if (error instanceof ExpressionError) return `${error.at}: ${error.message}`
    throw error
  }
}

test('every function behaves as documented (P137)', () => {
  const cases: [string, Value][] = [
    ['String(5)', '5'],
    ["String('x')", 'x'],
    ['String(true)', 'true'],
    ["Number('3.5')", 3.5],
    ['Number(4)', 4],
    ["Boolean('')", false],
    ['Boolean(0)', false],
    ["Boolean('false')", true],
    ['round(1.95)', 2],
    ['round(1.3)', 1],
    ['floor(1.95)', 1],
    ["upper('aB')", 'AB'],
    ["lower('aB')", 'ab'],
    ["trim('  x ')", 'x'],
    ["trimLeft('  x ')", 'x '],
    ["trimRight('  x ')", '  x'],
    ["replace('a.b.c', '.', '-')", 'a-b-c'],
    ["replace('abc', '', '-')", 'abc'],
    ["substring('hello', 1, 3)", 'el'],
    ["length('hello')", 5],
    ["includes('hello', 'ell')", true],
    ["indexOf('hello', 'l')", 2],
    ["indexOf('hello', 'z')", -1],
    ["match('FB-12', '^fb-\\\\d+$', true)", true],
    ["match('FB-12', '^fb', false)", false],
    ["match('xFB-1', '/FB-/', false)", true],
    ["match('xFB-1', 'FB-')", true],
    ["match('xfb-1', 'FB-')", false],
    ["Variable('X')", 'ex'],
    ["Variable('NOPE')", null],
    ["Member('my-step', 'result')", 'success'],
    ["Member('my-step', 'nope')", null],
  ]
  for (const [text, expected] of cases) expect([text, value(text, { X: 'ex' })]).toEqual([text, expected])
  const shown = new Set(cases.map(([text]) => text.split('(')[0]))
  expect(Object.keys(EXPRESSION_FUNCTIONS).filter((name) => !shown.has(name))).toEqual([])
})

test('operators have the usual precedence and are left-associative', () => {
  expect(value('1 + 2 * 3 - 4 / 2')).toBe(5)
  expect(value('10 - 3 - 2')).toBe(5)
  expect(value('(1 + 2) * 3 % 4')).toBe(1)
  expect(value('-2 * -3')).toBe(6)
  expect(value('!true || 1 < 2 && 2 >= 2')).toBe(true)
  expect(value('1 == 1 != false')).toBe(true)
  expect(value('1.79E+308 > 5')).toBe(true)
})

test('+ concatenates if either side is a string', () => {
  expect([value("'a' + 1"), value("1 + 'a'"), value('1 + 2')]).toEqual(['a1', '1a', 3])
})

test('values of different types are not equal, except a boolean and its text', () => {
  expect([value("1 == '1'"), value("1 != '1'"), value("null == ''"), value('null == null')]).toEqual([false, true, false, true])
  expect([
    value("true == 'true'"),
    value("'false' == false"),
    value("true == 'yes'"),
    value("'a' === 'a'"),
    value("'a' !== 'a'"),
  ]).toEqual([true, true, false, true, false])
})

test('&& and || short-circuit', () => {
  expect([value('false && 1 / 0 == 1'), value('true || 1 / 0 == 1')]).toEqual([false, true])
})

test('strings support the escapes of JavaScript', () => {
  expect(value(String.raw`'it\'s\n\x41\u0042\u{1F600}\\d\q'`)).toBe("it's\nAB\u{1F600}\\dq")
})

test('evaluates common conditions', () => {
  expect(value('includes(lower("${{CF_COMMIT_MESSAGE}}"), "skip ci") == false', { CF_COMMIT_MESSAGE: 'Fix it [SKIP CI]' })).toBe(
    false,
  )
  expect(value('match("${{CF_BRANCH}}", "^FB-", true) == false', { CF_BRANCH: 'main' })).toBe(true)
  expect(value("'${{ACTION}}' == 'opened'", { ACTION: 'opened' })).toBe(true)
  expect(value("steps.a.result == 'failure' || steps.b.result == 'failure'")).toBe(true)
  expect(value("${{steps.a.result}} === 'failure' && ${{steps.b.result}} === 'success'")).toBe(true)
  expect(value("${{SKIP}} == 'true'", { SKIP: 'true' })).toBe(true)
  expect(value("workflow.result == 'failure'")).toBe(false)
  expect(value("a.result == 'failure' &&\n  steps.a.output.X == 'exported'")).toBe(true)
})

test('an expression can detect an unknown variable, whose reference stays in the text', () => {
  expect(value('includes("${{X}}", "{{X}}") == true')).toBe(true)
  expect(value('includes("${{X}}", "{{X}}") == true', { X: '' })).toBe(false)
})

test('no variable value can change the meaning of an expression', () => {
  for (const evil of ['" == "" || true || "', "' || true || '", '\\', '${{EVIL}}', 'true || true', ') || (true']) {
    expect(value('"${{EVIL}}" == "safe"', { EVIL: evil })).toBe(false)
    expect(value("${{EVIL}} == 'safe'", { EVIL: evil })).toBe(false)
    expect(value('length("${{EVIL}}")', { EVIL: evil })).toBe(evil.length)
  }
})

test('errors report the problem and its position (P138)', () => {
  expect(problem("upper('a'")).toBe('9: unexpected end of expression, expected )')
  expect(problem('1 +')).toBe('3: unexpected end of expression')
  expect(problem("'open")).toBe('0: unterminated string')
  expect(problem('a b')).toMatch(/^0: unknown name "a"/)
  expect(problem('1 ; 2')).toBe('2: unexpected character ";"')
  expect(problem('x = 1')).toMatch(/^0|^2/)
  expect(problem("uper('a')")).toBe('0: unknown function uper(). Did you mean upper()?')
  expect(problem("upper('a', 'b')")).toBe('0: upper() takes 1 argument, not 2')
  expect(problem('upper(5)')).toBe('6: upper() needs a string as argument 1, not a number')
  expect(problem("Number('abc')")).toBe('0: Number(): the string is not a number')
  expect(problem("match('a')")).toBe('0: match() takes 2 or 3 arguments, not 1')
  expect(problem("match('a', '(', false)")).toMatch(/^0: match\(\): the regular expression cannot be used/)
  expect(problem("'a' < 1")).toBe('4: "<" cannot compare a string with a number')
  expect(problem('1 / 0')).toBe('2: division by zero')
  expect(problem('true - 1')).toBe('5: "-" needs two numbers, not a boolean and a number')
  expect(problem("-'a'")).toBe('0: "-" needs a number, not a string')
  expect(problem("steps.nope.result == 'x'")).toBe('0: step "nope" does not exist')
  expect(problem('main')).toBe("0: unknown name \"main\"; write 'main' for a string or Variable('main') for a variable")
  expect(problem('constructor.name')).toBe('0: step "constructor" does not exist')
  expect(problem('toString()')).toMatch(/unknown function/)
})

test('limits an expression to 12,000 characters before and after variable substitution (P139)', () => {
  const long = `'${'x'.repeat(12_000 - 2)}'`
  expect(isTruthy(value(long))).toBe(true)
  expect(problem(`${long} `)).toMatch(/longer than 12000 characters/)
  expect(problem('"${{X}}" == ""', { X: 'x'.repeat(12_000) })).toMatch(/longer than 12000 characters after/)
})

test('bounds the cost of long and deep expressions', () => {
  expect(value(Array.from({ length: 2_900 }, () => '1').join(' + '))).toBe(2_900)
  expect(value(Array.from({ length: 1_000 }, () => 'false').join(' || '))).toBe(false)
  expect(problem(`${'('.repeat(5_000)}1${')'.repeat(5_000)}`)).toMatch(/nested more than 64 levels/)
  expect(problem('!'.repeat(11_000) + 'true')).toMatch(/nested more than 64 levels/)
  let grow = "'a'"
  for (let level = 0; level < 30; level += 1) grow = `replace(${grow}, 'a', 'aaaaaaaaaa')`
  expect(problem(grow)).toMatch(/the result is too long/)
})

test('any text either parses or throws ExpressionError', () => {
  const words = fc.constantFrom(
    'steps.a.result',
    'workflow.result',
    'upper(',
    'match(',
    '"',
    "'",
    '(',
    ')',
    ',',
    '+',
    '==',
    '&&',
    '||',
    '!',
    '-',
    '${{X}}',
    '5',
    'true',
    ' ',
    '\\',
    '/',
  )
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.oneof(words, fc.string({ maxLength: 3 })), { maxLength: 12 }).map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(text, fc.string(), (source, x) => {
      try {
        const result = value(source, { X: x })
        expect(['string', 'number', 'boolean'].includes(typeof result) || result === null).toBe(true)
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error
        expect(error.at).toBeGreaterThanOrEqual(0)
        expect(error.at).toBeLessThanOrEqual(Math.max(source.length, 12_000))
      }
    }),
    { numRuns: 3_000 },
  )
})
