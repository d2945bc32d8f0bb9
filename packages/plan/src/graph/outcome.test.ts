import { expect, test } from 'vitest'
import { finished, serial, step } from '../../test/plans.ts'
import { emptySnapshot, foldAll } from '../state/fold.ts'
import { buildOutcome } from './outcome.ts'

test('a denied approval becomes the reason of the build', () => {
  const plan = serial([step('ok')])
  const snapshot = foldAll(emptySnapshot(plan), [finished('ok', 1, { status: 'error', reason: 'denied' })])
  expect(buildOutcome(plan, snapshot)).toEqual({ status: 'error', reason: 'denied', step: 'ok' })
})

test('a fatal failure takes precedence over one that counts only at the end', () => {
  const plan = serial([step('soft', { failFast: false, strictFailFast: true }), step('hard')])
  const snapshot = foldAll(emptySnapshot(plan), [
    finished('soft', 1, { status: 'error' }),
    finished('hard', 2, { status: 'error' }),
  ])
  expect(buildOutcome(plan, snapshot)).toMatchObject({ status: 'error', step: 'hard' })
})

test('a terminated step terminates the build', () => {
  const plan = serial([step('a')])
  const snapshot = foldAll(emptySnapshot(plan), [finished('a', 1, { status: 'terminated', reason: 'timeout' })])
  expect(buildOutcome(plan, snapshot)).toEqual({ status: 'terminated', reason: 'timeout', step: 'a' })
})
