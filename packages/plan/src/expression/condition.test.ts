import { expect, test } from 'vitest'
import { finished, serial, step } from '../../test/plans.ts'
import { judgeWhen } from './condition.ts'
import { emptySnapshot, foldAll } from '../state/fold.ts'
import type { When } from '../plan.ts'
import { buildScope } from './scope.ts'

function verdict(when: When, branch = 'main'): string {
  const plan = serial([step('good'), step('bad'), step('left'), step('open')], {
    variables: [{ level: 'build', variables: { CF_BRANCH: { value: branch } } }],
  })
  const snapshot = foldAll(emptySnapshot(plan), [
    finished('good', 1),
    finished('bad', 2, { status: 'error', reason: 'exit-code' }),
    finished('left', 3, { status: 'skipped', reason: 'condition-false' }),
  ])
  const result = judgeWhen(when, { scope: buildScope({ plan, snapshot }), snapshot })
  return result.holds === 'broken' ? result.message : result.holds
}

test('when.branch only and ignore accept names and /regular expressions/i (P088)', () => {
  const cases: [When['branch'], string, string][] = [
    [{ only: ['main'] }, 'main', 'yes'],
    [{ only: ['main'] }, 'maintenance', 'no'],
    [{ only: ['/^FB-.*/i', 'main'] }, 'fb-12', 'yes'],
    [{ only: ['/^FB-.*/'] }, 'fb-12', 'no'],
    [{ ignore: ['main', '/^release\\//'] }, 'release/1', 'no'],
    [{ ignore: ['main'] }, 'develop', 'yes'],
    [{ only: ['/^f/'], ignore: ['/x$/'] }, 'fox', 'no'],
    [{ only: [] }, 'main', 'no'],
    [{ only: ['/^((?!test).)*$/gi'] }, 'my-Test', 'no'],
  ]
  for (const [branch, name, expected] of cases)
    expect([branch, verdict({ branch: branch ?? {} }, name)]).toEqual([branch, expected])
})

test('when.condition all needs every expression, any needs one, and together both must hold (P089)', () => {
  const T = "'a' == 'a'"
  const F = "'a' == 'b'"
  const cases: [When['condition'], string][] = [
    [{ all: { x: T, y: T } }, 'yes'],
    [{ all: { x: T, y: F } }, 'no'],
    [{ any: { x: F, y: T } }, 'yes'],
    [{ any: { x: F, y: F } }, 'no'],
    [{ all: { x: T }, any: { y: F } }, 'no'],
    [{ all: { x: T }, any: { y: T } }, 'yes'],
    [{ all: {} }, 'yes'],
    [{ any: {} }, 'no'],
  ]
  for (const [condition, expected] of cases)
    expect([condition, verdict({ condition: condition ?? {} })]).toEqual([condition, expected])
})

test('when.steps matches all or any, and finished matches success, failure and skipped', () => {
  const on = (match: 'all' | 'any', ...of: [string, ...string[]][]): string =>
    verdict({ steps: { match, of: of.map(([name, ...words]) => ({ name, on: words })) } })
  expect(on('all', ['good', 'success'], ['bad', 'failure'])).toBe('yes')
  expect(on('all', ['good', 'success'], ['bad', 'success'])).toBe('no')
  expect(on('any', ['good', 'failure'], ['bad', 'failure'])).toBe('yes')
  expect(on('all', ['good', 'finished'], ['bad', 'finished'], ['left', 'finished'])).toBe('yes')
  expect(on('all', ['open', 'finished'])).toBe('no')
  expect(on('all', ['open', 'pending', 'running'])).toBe('yes')
  expect(on('all', ['left', 'skipped'])).toBe('yes')
})

test('all parts of a when must hold', () => {
  const steps = { match: 'all', of: [{ name: 'good', on: ['success'] }] } as const
  expect(verdict({ branch: { only: ['main'] }, steps, condition: { all: { x: '1 == 1' } } })).toBe('yes')
  expect(verdict({ branch: { only: ['other'] }, steps })).toBe('no')
})

test('an invalid condition reports its label and the problem (P138)', () => {
  expect(verdict({ condition: { all: { check: 'upper(1)' } } })).toBe(
    'Condition "check" cannot be evaluated: upper() needs a string as argument 1, not a number (character 7 of: upper(1))',
  )
  expect(verdict({ branch: { only: ['/(/'] } })).toMatch(/^The branch pattern \/\(\/ cannot be used/)
})
