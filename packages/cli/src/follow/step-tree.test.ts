import { expect, test } from 'vitest'
import { toTree } from './step-tree.ts'

const step = (name: string, parent: string | null = null): { name: string; parent: string | null } => ({ name, parent })
const lines = (...steps: { name: string; parent: string | null }[]): string[] =>
  toTree(steps).map(({ label, depth }) => `${' '.repeat(depth)}${label}`)

test('children stand below their group, in the order of the document', () => {
  expect(lines(step('a'), step('group'), step('left', 'group'), step('right', 'group'), step('z'))).toEqual([
    'a',
    'group',
    ' left',
    ' right',
    'z',
  ])
})

test('hooks stand below their step by their moment, and those of the build around all steps', () => {
  const all = [
    step('.on_finish'),
    step('.on_elected'),
    step('test'),
    step('test.on_fail', 'test'),
    step('test.on_elected', 'test'),
  ]
  expect(lines(...all)).toEqual(['on_elected', 'test', ' on_elected', ' on_fail', 'on_finish'])
})

test('parts of a typed step are named by what their step does not say', () => {
  expect(lines(step('greet'), step('greet.main', 'greet'), step('greet.main.deep', 'greet.main'))).toEqual([
    'greet',
    ' main',
    '  deep',
  ])
})

test('a step that is called like a moment is a step', () => {
  expect(lines(step('first'), step('on_elected'))).toEqual(['first', 'on_elected'])
})
