import { expect, test } from 'vitest'
import { finished, freestyle, play, serial, step, type Script } from '../../test/plans.ts'
import { emptySnapshot, foldAll } from '../state/fold.ts'
import type { PlanStep } from '../plan.ts'
import { blamedStep } from './blame.ts'

const group = (name: string, fields: Partial<PlanStep> = {}): PlanStep =>
  step(name, { action: { kind: 'group', mode: 'serial' }, ...fields })
const FAILED = { status: 'error', reason: 'exit-code' } as const

function blame(steps: readonly PlanStep[], script: Script, fields: object = {}): string | undefined {
  const plan = serial(steps, fields)
  return blamedStep(plan, play(plan, emptySnapshot(plan), { script }).snapshot)
}

test('blames the step inside failed groups, not the groups', () => {
  const steps = [
    step('clone'),
    group('tests'),
    group('unit', { parent: 'tests' }),
    step('good', { parent: 'unit' }),
    step('bad', { parent: 'unit', after: ['good'] }),
    step('publish'),
  ]
  expect(blame(steps, { bad: FAILED })).toBe('bad')
})

test('blames no failure that the build forgives, and no clean-up hook', () => {
  const steps = [
    step('soft', { failFast: false }),
    step('hard'),
    step('hard.on_finish', { hook: { moment: 'on_finish', of: 'hard' } }),
  ]
  expect(blame(steps, { soft: FAILED, 'hard.on_finish': FAILED })).toBeUndefined()
  expect(blame(steps, { soft: FAILED, hard: FAILED, 'hard.on_finish': FAILED })).toBe('hard')
})

test('blames the on_elected hook that keeps a step from running', () => {
  const steps = [
    group('all'),
    step('deploy', { parent: 'all' }),
    step('deploy.on_elected', { hook: { moment: 'on_elected', of: 'deploy' } }),
  ]
  expect(blame(steps, { 'deploy.on_elected': FAILED })).toBe('deploy.on_elected')
})

test('blames the first failure if the criteria of the build are not met', () => {
  const fields = { successCriteria: { condition: { all: { never: "'a' == 'b'" } } } }
  expect(blame([step('one', { failFast: false }), step('two')], { one: FAILED }, fields)).toBe('one')
  expect(blame([step('one')], {}, fields)).toBeUndefined()
})

test('blames no step of a build that was asked to stop, and the running build for what already failed', () => {
  const plan = serial([step('one', { action: freestyle() }), step('two')], { mode: 'parallel' })
  const snapshot = foldAll(emptySnapshot(plan), [
    { type: 'step.started', step: 'two', try: 1, at: 1 },
    finished('one', 2, FAILED),
  ])
  expect(blamedStep(plan, snapshot)).toBe('one')
  expect(blamedStep(plan, snapshot, { cancelled: 'cancelled' })).toBeUndefined()
})
