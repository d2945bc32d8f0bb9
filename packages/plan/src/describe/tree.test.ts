import { expect, test } from 'vitest'
import { toTree } from './tree.ts'

const step = (name: string, parent: string | null = null): { name: string; parent: string | null } => ({ name, parent })
const lines = (...steps: { name: string; parent: string | null }[]): string[] =>
  toTree(steps).map(({ label, depth }) => `${' '.repeat(depth)}${label}`)

test('lists children below their group, in document order', () => {
  expect(lines(step('a'), step('group'), step('left', 'group'), step('right', 'group'), step('z'))).toEqual([
    'a',
    'group',
    ' left',
    ' right',
    'z',
  ])
})

test('lists hooks below their step in order of execution, and hooks of the build around all steps', () => {
  const all = [
    step('.on_finish'),
    step('.on_elected'),
    step('test'),
    step('test.on_fail', 'test'),
    step('test.on_elected', 'test'),
  ]
  expect(lines(...all)).toEqual(['on_elected', 'test', ' on_elected', ' on_fail', 'on_finish'])
})

test('labels parts of a typed step without the prefix of their step', () => {
  expect(lines(step('greet'), step('greet.main', 'greet'), step('greet.main.deep', 'greet.main'))).toEqual([
    'greet',
    ' main',
    '  deep',
  ])
})

test('a step may be named like a hook', () => {
  expect(lines(step('first'), step('on_elected'))).toEqual(['first', 'on_elected'])
})
