import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { shellWord } from './shell-word.ts'

test('leaves names without a meaning in a shell as they are', () => {
  for (const word of ['main', 'demo/app', 'a=b', 'demo/app#push', '--break', 'unit_tests:override', '1.5'])
    expect(shellWord(word)).toBe(word)
})

test('a shell reads each word as it was given', () => {
  const words = [
    '',
    "it's",
    '#no comment',
    'x; touch y',
    '$(id)',
    '`id`',
    '~',
    'a|b>c',
    'a\nb',
    '\u001B[201~\u0003id\r',
    String.raw`\'`,
    '*',
  ]
  const text = execFileSync('bash', ['-c', `printf '%s\\0' ${words.map(shellWord).join(' ')}`]).toString()
  expect(text.split('\0').slice(0, -1)).toEqual(words)
  // A terminal without bracketed paste acts on control characters.
  expect(words.map(shellWord).join(' ')).not.toMatch(/\p{Cc}/u)
})
