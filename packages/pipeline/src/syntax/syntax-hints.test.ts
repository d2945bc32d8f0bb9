import { expect, test } from 'vitest'
import { oneStep } from '../../test/documents.ts'
import { compile } from '../compile/compile.ts'

test.each([
  ['an unclosed list', oneStep('image: x', 'commands: [echo hi'), 'Close the [ or {'],
  ['a key without a colon', "version: '1.0'\nsteps\n  a:\n    image: x\n", 'Write a colon after each key'],
  ['keys in different columns', oneStep('image: x', ' commands: [a]'), 'Start all keys of a mapping in the same column'],
  ['an unclosed quote', oneStep('image: "x', 'commands: [a]'), 'Close the quote'],
  ['a command with a colon', oneStep('image: x', 'commands:', '  - echo a: b'), 'Quote a text that contains ": "'],
])('gives a hint that fits %s', (_, text, hint) => {
  const [first] = compile({ text, file: 'x.yml' }).problems
  expect(first?.hint).toContain(hint)
})
