import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cacheKey, objectName } from './cache-key.ts'

const JOB = { jobName: 'build', ref: 'main' }

test.each([
  ['', 'build/main'],
  ['default', 'default'],
  ['a/b-protected', 'a/b-protected'],
  ['a%2Fb', 'a/b'],
  ['a\\b', 'a/b'],
  ['../../other', 'other'],
  ['a/../b', 'b'],
  ['%2e%2e%2fb', 'b'],
  ['a/./b//c', 'a/b/c'],
  ['name  ', 'name'],
  ['name/', 'name'],
  ['/absolute', 'absolute'],
  ['ä€', 'ä€'],
  ['..', undefined],
  ['%2e', undefined],
  ['   ', undefined],
  ['/', undefined],
])('the key "%s" is "%s" (G043)', (given, key) => {
  const found = cacheKey(given, JOB)
  expect(found.key).toBe(key)
  expect(found.notice === undefined).toBe(given === '' || given === key)
})

test('a hashed key takes any text (G043)', () => {
  expect(cacheKey('../x', { ...JOB, isHashed: true })).toEqual({ key: expect.stringMatching(/^[0-9a-f]{64}$/) })
})

test('no key leads out of its project, and a key does not change again (G043)', () => {
  const word = fc.string({ unit: fc.constantFrom(...Array.from('ab./\\ %2eEfF')), maxLength: 24 })
  fc.assert(
    fc.property(word, (given) => {
      const { key } = cacheKey(given, JOB)
      if (key === undefined) return
      const url = new URL(`https://s3.test/bucket/${objectName({ prefix: '', runner: 'abc', projectId: 7 }, key)}`)
      expect(url.pathname.startsWith('/bucket/runner/abc/project/7/')).toBe(true)
      expect(cacheKey(key, JOB).key).toBe(key)
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  [{ prefix: '', runner: 'abc', projectId: 7 }, 'runner/abc/project/7/key'],
  [{ prefix: '/caches/', runner: 'abc', projectId: 7 }, 'caches/runner/abc/project/7/key'],
  [{ prefix: 'p', runner: undefined, projectId: 7 }, 'p/project/7/key'],
])('the object of a cache at %j is %s', (place, name) => {
  expect(objectName(place, 'key')).toBe(name)
})
