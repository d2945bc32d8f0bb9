import { expect, test } from 'vitest'
import { decodeOnce, isPlainPath } from './plain-path.ts'

test.each(['/', '/a/..b/c..', '/a%20b', '/a%2Fb', '/a;b/.c', '/%2520', '//'])('%s is plain', (path) => {
  expect(isPlainPath(path)).toBe(true)
})

test.each([
  '/a/../b',
  '/a/.',
  '/%2e%2e/b',
  '/.%2E/b',
  '/%252e%252e/b',
  '/a%2f..%2fb',
  '/a%5c..',
  '/..\\b',
  '/..;/b',
  '/.;x/b',
  '/..%3bx/b',
  '/..%20/b',
  '/..%2520/b',
  '/..%253bx/b',
  '/%20./b',
  '/a%00',
  '/a%0d%0ab',
  '/a\u007fb',
  '/%zz',
  '/%c0%ae',
])('%s is not plain', (path) => {
  expect(isPlainPath(path)).toBe(false)
})

test('a text is decoded once, if it is UTF-8', () => {
  expect([decodeOnce('a%2520b'), decodeOnce('%C3%A4'), decodeOnce('%ff')]).toEqual(['a%20b', '\u00e4', undefined])
})
