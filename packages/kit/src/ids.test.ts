import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isId, newId, newToken, parseToken, tokenMatches } from './ids.ts'

test('ids are 24 hex digits, unique, and sort by creation time', () => {
  const ids = Array.from({ length: 1000 }, (_, n) => newId(1_800_000_000_000 + n * 1000))
  expect(ids.every(isId)).toBe(true)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(Array.from({ length: 1000 }, () => newId(0))).size).toBe(1000)
})

test('ids of one second sort by creation, also when the clock stands still or goes back by less than a second', () => {
  const random = fc.nat({ max: 999 })
  fc.assert(
    fc.property(fc.array(random, { maxLength: 200 }), fc.nat(), (times, second) => {
      const ids = times.map((ms) => newId(second * 1000 + ms))
      expect(ids.toSorted()).toEqual(ids)
      expect(ids.every(isId)).toBe(true)
    }),
  )
  const many = Array.from({ length: 70_000 }, () => newId(1_800_000_000_999))
  expect(new Set(many).size).toBe(70_000)
})

test('a token matches its hash, which does not contain the secret', () => {
  const token = newToken(0)
  const parsed = parseToken(token.text)
  expect(parsed?.id).toBe(token.id)
  expect(tokenMatches(parsed?.secret ?? '', token.hash)).toBe(true)
  expect(tokenMatches(`${parsed?.secret}x`, token.hash)).toBe(false)
  expect(token.hash).not.toContain(parsed?.secret)
})

test('the token parser accepts any text, and an invalid hash matches nothing', () => {
  fc.assert(fc.property(fc.string(), (text) => parseToken(text) === undefined || parseToken(text)?.id.length === 24))
  expect(tokenMatches('anything', 'not hex')).toBe(false)
})
