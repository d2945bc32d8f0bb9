import { expect, test } from 'vitest'
import { sh, shellWord } from './shell-word.ts'

test('quotes a word only if a shell would read it as something else', () => {
  expect(['demo/app', 'a@b.example', 'two words', "it's", '$(reboot)', ''].map(shellWord)).toEqual([
    'demo/app',
    'a@b.example',
    "'two words'",
    String.raw`'it'\''s'`,
    "'$(reboot)'",
    "''",
  ])
})

test('quotes each value of a command line; a list is several words or none', () => {
  expect(sh`windlass get stats ${'demo/my app'} ${['--branch', 'a b']}`).toBe("windlass get stats 'demo/my app' --branch 'a b'")
  expect(sh`windlass get stats ${'demo/app'} ${[]}`).toBe('windlass get stats demo/app')
  expect(sh`windlass restart ${7} ${[]} --debug`).toBe('windlass restart 7 --debug')
})
