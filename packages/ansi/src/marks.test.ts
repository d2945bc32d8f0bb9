import { expect, test } from 'vitest'
import { foreignHost } from './addresses.ts'
import { codePointName, showControls } from './marks.ts'

test('a character has the name of its code point', () => {
  expect(['\u202E', '\uFEFF', '\u{E0041}', '\u00AD'].map(codePointName)).toEqual(['U+202E', 'U+FEFF', 'U+E0041', 'U+00AD'])
})

test('control characters become visible and tabs stay', () => {
  expect(showControls('\u001B[31ma\tb\r\u0000\u007F\u009B')).toBe('␛[31ma\tb␍␀␡<9B>')
})

test.each([
  ['https://good.test', 'https://bad.test/x', 'bad.test'],
  ['good.test/path', 'https://bad.test:8443/', 'bad.test:8443'],
  ['good.test', 'https://good.test/path', undefined],
  ['click here', 'https://bad.test/', undefined],
  [`${'a'.repeat(100)}.test`, 'https://bad.test/', undefined],
])('the text "%s" with a link to %s names the host %s', (text, link, host) => {
  expect(foreignHost({ text, link })).toBe(host)
})
