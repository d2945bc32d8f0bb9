/** Booleans of the variables of the cache. */
import { expect, test } from 'vitest'
import { cacheFromVariables } from './cache-variables.ts'

test('booleans are read as the original reads them', () => {
  const shared = (text: string): unknown => cacheFromVariables({ CACHE_SHARED: text })['Shared']
  expect(['1', 't', 'T', 'TRUE', 'true', 'True'].map(shared)).toEqual(Array.from({ length: 6 }, () => true))
  expect(['0', 'f', 'F', 'FALSE', 'false', 'False'].map(shared)).toEqual(Array.from({ length: 6 }, () => false))
  expect(shared('')).toBeUndefined()
})

test.each(['yes', 'on', 'tRUE', ' true'])('"%s" is not a boolean', (text) => {
  expect(() => cacheFromVariables({ CACHE_S3_INSECURE: text })).toThrow(
    `CACHE_S3_INSECURE must be "true" or "false", not "${text}".`,
  )
})
