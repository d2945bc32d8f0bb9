import { expect, test } from 'vitest'
import { finished, serial, step } from '../../test/plans.ts'
import { emptySnapshot, foldAll } from '../state/fold.ts'
import type { VariableLayer, When } from '../plan.ts'
import type { StepFact } from '../state/snapshot.ts'
import { explainWhen } from './explain-when.ts'

const LAYERS: readonly VariableLayer[] = [
  { level: 'pipeline', variables: { CF_BRANCH: { value: 'next' }, TARGET: { value: 'staging' }, TOKEN: { secret: 'TOKEN' } } },
]
const SKIPPED = { status: 'skipped', reason: 'condition-false' } as const

function explain(when: When, facts: readonly StepFact[], variables: readonly VariableLayer[] = LAYERS) {
  const checked = step('deploy', { when })
  const plan = serial([step('build'), step('test'), checked], { variables })
  return explainWhen(checked, { plan, snapshot: foldAll(emptySnapshot(plan), facts) })
}

test('shows the values that each part read, and which part did not hold', () => {
  const when: When = {
    branch: { only: ['main', '/^next$/'], ignore: ['wip'] },
    steps: { match: 'all', of: [{ name: 'test', on: ['success'] }] },
    condition: { all: { target: "'${{TARGET}}' == 'production'" }, any: { unset: "'${{MISSING}}' == ''" } },
  }
  const facts = [finished('build', 1), finished('test', 2), finished('deploy', 3, SKIPPED)]
  expect(explain(when, facts)).toEqual({
    holds: 'no',
    parts: [
      {
        part: 'branch',
        match: 'all',
        text: 'only main, /^next$/; not wip',
        values: [{ name: 'CF_BRANCH', value: 'next', isSecret: false }],
        holds: 'yes',
      },
      {
        part: 'steps',
        match: 'all',
        label: 'test',
        text: 'success',
        values: [{ name: 'test', value: 'success', isSecret: false }],
        holds: 'yes',
      },
      {
        part: 'condition',
        match: 'all',
        label: 'target',
        text: "'${{TARGET}}' == 'production'",
        values: [{ name: 'TARGET', value: 'staging', isSecret: false }],
        holds: 'no',
      },
      expect.objectContaining({ label: 'unset', match: 'any', values: [{ name: 'MISSING', isSecret: false }] }),
    ],
  })
})

test('shows the values of the time when the condition was evaluated', () => {
  const when: When = { condition: { all: { target: "'${{TARGET}}' == 'staging'", built: "steps.build.result == 'running'" } } }
  const facts: StepFact[] = [
    { type: 'step.started', step: 'build', try: 1, at: 1 },
    { type: 'step.started', step: 'deploy', try: 1, at: 5 },
    finished('deploy', 6),
    finished('build', 9, { exports: [{ name: 'TARGET', value: 'production', secret: false }] }),
  ]
  expect(explain(when, facts)).toMatchObject({
    holds: 'yes',
    parts: [
      { values: [{ name: 'TARGET', value: 'staging' }], holds: 'yes' },
      { values: [{ name: 'steps.build.result', value: 'running' }], holds: 'yes' },
    ],
  })
})

test('shows no secret value, and no result that depends on one', () => {
  const when: When = {
    condition: {
      all: { token: "'${{TOKEN}}' == 'abc'", exported: "'${{KEY}}' == 'x'", member: "steps.build.output.PASS == 'x'" },
    },
  }
  const sealed = { outputs: ['PASS'] }
  const facts = [
    finished('build', 1, {
      exports: [{ name: 'KEY', value: 'sealed:KEY', secret: true }],
      outputs: { PASS: 'sealed:PASS' },
      sealed,
    }),
    finished('deploy', 2, SKIPPED),
  ]
  const explained = explain(when, facts)
  expect(explained?.holds).toBe('no')
  expect(explained?.parts.map(({ values, holds }) => [holds, ...values.map(({ isSecret }) => isSecret)])).toEqual([
    [undefined, true],
    [undefined, true],
    [undefined, true],
  ])
  expect(JSON.stringify(explained)).not.toContain('sealed:')
})

test('says that a condition was not evaluated if the turn of the step did not come', () => {
  const when: When = { branch: { only: ['main'] } }
  const facts = [
    finished('build', 1, { status: 'error', reason: 'exit-code' }),
    finished('deploy', 2, { status: 'skipped', reason: 'not-reached' }),
  ]
  const explained = explain(when, facts)
  expect(explained).toMatchObject({ parts: [{ text: 'only main' }] })
  expect(explained).not.toHaveProperty('holds')
  expect(explained?.parts[0]).not.toHaveProperty('holds')
  expect(explain(when, [])).not.toHaveProperty('holds')
})

test('shows the error of an invalid condition', () => {
  const message = 'Condition "broken" cannot be evaluated'
  const when: When = { condition: { all: { broken: '1 +' } } }
  const explained = explain(when, [finished('deploy', 2, { status: 'error', reason: 'condition-error', message })])
  expect(explained).toMatchObject({ holds: 'broken', message, parts: [{ label: 'broken', holds: 'broken' }] })
})
