import { expect, test } from 'vitest'
import { matchesGlob } from './glob.ts'

test.each([
  ['*', 'a/b.yaml', true],
  ['*.yaml', 'a/b.yaml', true],
  ['*.yaml', 'a/b.json', false],
  ['{a/*.yaml,b/**/*.yaml}', 'b/c/d.yaml', true],
  ['{a/*.yaml,{b,c}/*.yaml}', 'c/d.yaml', true],
  ['{a,b', '{a,b', true],
  ['drafts/?[!0-9][a-c]', 'drafts/xyb', true],
  ['drafts/?[!0-9][a-c]', 'drafts/x1b', false],
  [String.raw`\*`, '*', true],
  [String.raw`\*`, 'a', false],
  ['', '', true],
])('without a separator the pattern %s and the text %s: %s', (pattern, text, expected) => {
  expect(matchesGlob(pattern, text)).toBe(expected)
})

test('with a separator only ** crosses it', () => {
  expect(matchesGlob('https://git.example.com/acme/*', 'https://git.example.com/acme/shop', '/')).toBe(true)
  expect(matchesGlob('https://git.example.com/*', 'https://git.example.com/acme/shop', '/')).toBe(false)
  expect(matchesGlob('https://git.example.com/**', 'https://git.example.com/acme/shop', '/')).toBe(true)
  expect(matchesGlob('a?b', 'a/b', '/')).toBe(false)
})

test('patterns that would need many ways are matched at once, and too many alternatives match nothing', () => {
  expect(matchesGlob('*a'.repeat(200), `${'a'.repeat(400)}b`)).toBe(false)
  expect(matchesGlob('{a,b}'.repeat(20), 'a'.repeat(20))).toBe(false)
})
