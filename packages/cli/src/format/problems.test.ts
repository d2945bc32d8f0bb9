import { expect, test } from 'vitest'
import { fault } from '@windlass/kit/faults'
import { countProblems, formatError, formatProblem } from './problems.ts'
import { styleFor } from './style.ts'

const style = styleFor(false)
const sources = new Map([['p.yml', "version: '1.0'\nsteps:\n  test:\n    imge: alpine\n"]])

test('a problem shows file:line:column, the line and a caret below the place', () => {
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

test('the caret stands below its column when tabs are before it', () => {
  const lines = formatProblem({ file: 't', line: 1, column: 2, message: 'x' }, new Map([['t', '\tkey: 1']]), style)
  expect(lines.slice(1)).toEqual([' 1 |   key: 1', '   |   ^'])
})

test('a problem without a place names its field', () => {
  expect(formatProblem({ path: 'variables.X', message: 'is too long' }, sources, style)).toEqual([
    'error: variables.X: is too long',
  ])
})

test('an expected error is one line what and one line hint, without a stack', () => {
  const lines = formatError(fault('not-found', { message: 'There is no build 42.' }), { style, debug: false })
  expect(lines).toEqual(['error: There is no build 42.', 'hint: Check the name or id.'])
})

test('a bug is told as one, and shows its stack only to whoever debugs', () => {
  const bug = new TypeError('x is not a function')
  expect(formatError(bug, { style, debug: false }).join('\n')).not.toContain('    at ')
  expect(formatError(bug, { style, debug: true }).join('\n')).toContain('TypeError')
})

test('problems are counted with the right plural', () => {
  expect(countProblems([{ message: '' }, { message: '', severity: 'warning' }, { message: '', severity: 'warning' }])).toBe(
    '3 problems (1 error, 2 warnings)',
  )
})
