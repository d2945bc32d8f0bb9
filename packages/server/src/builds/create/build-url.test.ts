import { expect, test } from 'vitest'
import { buildUrl } from './build-url.ts'

test('the link to a build leads people to its page, and to its record on a server without a page', () => {
  const advertisedUrl = (): string => 'https://ci.test'
  expect(buildUrl({ advertisedUrl, hasPage: true }, '1')).toBe('https://ci.test/builds/1')
  expect(buildUrl({ advertisedUrl, hasPage: false }, '1')).toBe('https://ci.test/v1/builds/1')
})
