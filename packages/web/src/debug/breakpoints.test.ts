import type { BuildStep } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { chosenOf, toFlags, toSteps, whyNotStop } from './breakpoints.ts'

const settings = { steps: { unit_tests: ['before' as const, 'failure' as const], 'a:b': ['after' as const] }, onFailure: false }

test('breakpoints are the same in a call, a choice and a command', () => {
  const chosen = chosenOf(settings)
  expect(toSteps(chosen)).toEqual(settings.steps)
  expect(toFlags(chosen, true)).toBe(' --break a:b:after --break unit_tests:before --break unit_tests:failure --on-failure')
  expect(toFlags(new Set(["it's:after"]), false)).toBe(` --break 'it'\\''s:after'`)
})

test('only steps that still run can stop, and only freestyle steps can be replaced', () => {
  const step = { name: 'one', title: 'one', type: 'freestyle', status: 'running', try: 1 } as const satisfies BuildStep
  expect(whyNotStop(step, 'override', false)).toBeUndefined()
  expect(whyNotStop({ ...step, type: 'build' }, 'override', false)).toBe('Only freestyle steps can be replaced.')
  expect(whyNotStop({ ...step, finishedAt: 1 }, 'after', false)).toBe('The step has ended.')
  expect(whyNotStop({ ...step, finishedAt: 1 }, 'after', true)).toBeUndefined()
})
