import { expect, test } from 'vitest'
import { finished, serial, step } from '../../test/plans.ts'
import type { PlanStep } from '../plan.ts'
import { emptySnapshot, foldAll } from './fold.ts'
import { progressOf } from './progress.ts'

const group = (name: string, fields: Partial<PlanStep> = {}): PlanStep =>
  step(name, { action: { kind: 'group', mode: 'parallel' }, ...fields })

test('counts steps that do something, without groups and hooks', () => {
  const plan = serial([
    step('clone'),
    group('tests'),
    step('unit', { parent: 'tests' }),
    step('e2e', { parent: 'tests' }),
    group('clone.on_finish', { hook: { moment: 'on_finish', of: 'clone' } }),
    step('clone.on_finish.report', { parent: 'clone.on_finish' }),
    step('last'),
  ])
  expect(progressOf(plan, emptySnapshot(plan))).toEqual({ total: 4, done: 0, failed: 0 })
  const snapshot = foldAll(emptySnapshot(plan), [
    finished('clone', 2),
    finished('clone.on_finish.report', 3, { status: 'error' }),
    { type: 'step.started', step: 'tests', try: 1, at: 4 },
    { type: 'step.started', step: 'unit', try: 1, at: 5 },
    { type: 'step.started', step: 'e2e', try: 1, at: 6 },
    finished('e2e', 7, { status: 'error' }),
  ])
  expect(progressOf(plan, snapshot)).toEqual({ total: 4, done: 2, failed: 1, current: 'unit' })
})

test('names the step that started last', () => {
  const plan = serial([step('a'), step('b'), step('c')])
  const snapshot = foldAll(emptySnapshot(plan), [
    { type: 'step.started', step: 'b', try: 1, at: 9 },
    { type: 'step.started', step: 'a', try: 1, at: 5 },
    { type: 'step.waiting', step: 'c', reason: 'approval', at: 7 },
  ])
  expect(progressOf(plan, snapshot).current).toBe('b')
})

test('names the step that the debugger holds longest', () => {
  const plan = serial([step('a'), step('b'), step('c')])
  const snapshot = foldAll(emptySnapshot(plan), [
    { type: 'step.waiting', step: 'a', reason: 'approval', at: 3 },
    { type: 'step.waiting', step: 'b', reason: 'debugger', at: 9 },
    { type: 'step.waiting', step: 'c', reason: 'debugger', at: 7 },
  ])
  expect(progressOf(plan, snapshot).held).toEqual({ step: 'c', since: 7 })
  expect(progressOf(plan, emptySnapshot(plan)).held).toBeUndefined()
})
