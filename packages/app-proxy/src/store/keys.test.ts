import { expect, test } from 'vitest'
import { deriveStoreKey, openKeyRing } from './keys.ts'

const IV = 'a random text of the store'
const RECORD = 'git-default-65f000000000000000000001'
const SECRET = 'ghp_0123456789'

test('a record has no part of the token, and each one is different', () => {
  const key = deriveStoreKey('runtime-token', IV)
  const records = [key.seal(RECORD, SECRET), key.seal(RECORD, SECRET)]
  expect(new Set(records).size).toBe(2)
  for (const record of records) {
    expect(record).toMatch(/^wl1\.[\w-]{12}\.[\w-]{16}\.[\w-]+$/)
    expect(Buffer.from(record.split('.')[3] ?? '', 'base64url').toString('latin1')).not.toContain(SECRET)
    expect(key.open(RECORD, record)).toBe(SECRET)
  }
})

test('a record opens only with its key and under its name, and not if it was changed', () => {
  const key = deriveStoreKey('runtime-token', IV)
  const record = key.seal(RECORD, SECRET)
  expect(deriveStoreKey('other-token', IV).open(RECORD, record)).toBeUndefined()
  expect(deriveStoreKey('runtime-token', `${IV}!`).open(RECORD, record)).toBeUndefined()
  expect(key.open('git-default-65f000000000000000000002', record)).toBeUndefined()
  const [version, id, nonce, sealed = ''] = record.split('.')
  const flipped = (sealed.startsWith('A') ? 'B' : 'A') + sealed.slice(1)
  expect(key.open(RECORD, [version, id, nonce, flipped].join('.'))).toBeUndefined()
  for (const broken of [
    '',
    'wl1',
    `wl2.${id}.${nonce}.${sealed}`,
    `wl1.${id}.AAAA.${sealed}`,
    `wl1.${id}.${nonce}.`,
    `${record}.x`,
  ])
    expect(key.open(RECORD, broken)).toBeUndefined()
})

test('after a rotation records of both keys open, and new ones have the new key', () => {
  const ring = openKeyRing(deriveStoreKey('first', IV))
  const before = ring.seal(RECORD, SECRET)
  expect(ring.isCurrent(before)).toBe(true)
  expect(ring.rotate(deriveStoreKey('second', IV))).toBe(true)
  expect(ring.rotate(deriveStoreKey('second', IV))).toBe(false)
  expect(ring.isCurrent(before)).toBe(false)
  expect(ring.open(RECORD, before)).toBe(SECRET)
  const after = ring.seal(RECORD, SECRET)
  expect(ring.isCurrent(after)).toBe(true)
  expect(openKeyRing(deriveStoreKey('second', IV)).open(RECORD, after)).toBe(SECRET)
  // A key that a replaced process had is known only if its token is given.
  expect(openKeyRing(deriveStoreKey('second', IV)).open(RECORD, before)).toBeUndefined()
  expect(openKeyRing(deriveStoreKey('second', IV), [deriveStoreKey('first', IV)]).open(RECORD, before)).toBe(SECRET)
})
