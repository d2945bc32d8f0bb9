import type { BuildStep } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { countsOf, foldedAtFirst, rowsOf } from './step-rows.ts'

const step = (name: string, more: Partial<BuildStep> = {}): BuildStep => ({
  name,
  title: name,
  type: 'freestyle',
  status: 'success',
  try: 1,
  ...more,
})

test('a large plan starts with folded groups, except those around the step that is shown', () => {
  const steps = ['a', 'b'].flatMap((group) => [
    step(group, { type: 'group' }),
    ...Array.from({ length: 100 }, (_, index) => step(`${group}${index}`, { parent: group })),
  ])
  const folded = foldedAtFirst(steps, 'b7')
  expect([...folded]).toEqual(['a'])
  const names = rowsOf(steps, folded).map((row) => row.step.name)
  expect(names).toHaveLength(102)
  expect(names.slice(0, 3)).toEqual(['a', 'b', 'b0'])
  expect(foldedAtFirst(steps.slice(0, 101), undefined).size).toBe(0)
})

test('a group says what became of its steps', () => {
  const inside = [
    ...Array.from({ length: 46 }, (_, index) => step(`m${index}`, { parent: 'm' })),
    step('m46', { parent: 'm', status: 'error' }),
    step('m47', { parent: 'm', status: 'error' }),
  ]
  expect(countsOf([step('m'), ...inside]).get('m')).toBe('48: 46 succeeded, 2 failed')
})
