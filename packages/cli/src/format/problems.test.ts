import { expect, test } from 'vitest'
import { fault } from '@windlass/kit/faults'
import { countProblems } from '@windlass/plan'
import { formatError, formatProblem } from './problems.ts'
import { styleFor } from './style.ts'

const style = styleFor(false)
const sources = new Map([['p.yml', "version: '1.0'\nsteps:\n  test:\n    imge: alpine\n"]])

test('shows file:line:column, the source line and a caret', () => {
  const lines = formatProblem(
    {
      file: 'p.yml',
      line: 4,
      column: 5,
      severity: 'error',
      code: 'unknown-key',
      message: 'no such field',
      hint: 'Did you mean "image"?',
    },
    sources,
    style,
  )
  expect(lines).toEqual([
    'p.yml:4:5: error: no such field [unknown-key]',
    ' 3 |   test:',
    ' 4 |     imge: alpine',
    '   |     ^',
    '  hint: Did you mean "image"?',
  ])
})

test('the caret is below its column after tabs', () => {
  const lines = formatProblem({ file: 't', line: 1, column: 2, message: 'x' }, new Map([['t', '\tkey: 1']]), style)
  expect(lines.slice(1)).toEqual([' 1 |   key: 1', '   |   ^'])
})

test('a problem without a position names its field', () => {
  expect(formatProblem({ path: 'variables.X', message: 'is too long' }, sources, style)).toEqual([
    'error: variables.X: is too long',
  ])
})

test('an expected error prints a message and a hint, without a stack', () => {
  const lines = formatError(fault('not-found', { message: 'Build 42 does not exist.' }), { style, debug: false })
  expect(lines).toEqual(['error: Build 42 does not exist.', 'hint: Check the name or ID.'])
})

test('does not repeat a problem that equals the message', () => {
  const problems = [{ path: 'name', message: 'must not be empty' }]
  const error = fault('request-invalid', { message: 'name: must not be empty', problems })
  expect(formatError(error, { style, debug: false })).toEqual(['error: name: must not be empty.'])
})

test('reports an unexpected error as a bug, with its stack only in debug mode', () => {
  const bug = new TypeError('x is not a function')
  expect(formatError(bug, { style, debug: false }).join('\n')).not.toContain('    at ')
  expect(formatError(bug, { style, debug: true }).join('\n')).toContain('TypeError')
})

test('counts problems with the correct plural', () => {
  expect(countProblems([{}, { severity: 'warning' }, { severity: 'warning' }])).toBe('3 problems (1 error, 2 warnings)')
})
