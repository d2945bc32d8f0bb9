import type { BuildStep } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { whatStops } from './sentence.ts'

const step = (name: string, more: Partial<BuildStep> = {}): BuildStep => ({
  name,
  title: name,
  type: 'freestyle',
  status: 'running',
  try: 1,
  ...more,
})

test('the question before the end of a build names the steps that run', () => {
  const group = step('checks', { type: 'group' })
  expect(whatStops({})).toBe('')
  expect(whatStops({ steps: [step('ended', { status: 'success' }), step('lint'), group] })).toBe('lint is stopped. ')
  expect(whatStops({ steps: [step('lint'), step('test')] })).toBe('lint and test are stopped. ')
  expect(whatStops({ steps: ['a', 'b', 'c'].map((name) => step(name)) })).toBe('a, b and c are stopped. ')
  expect(whatStops({ steps: ['a', 'b', 'c', 'd', 'e'].map((name) => step(name)) })).toBe('a, b, c and 2 more are stopped. ')
})
