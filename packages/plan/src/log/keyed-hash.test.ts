import { expect, test } from 'vitest'
import { keyedHash, type HashKey } from './keyed-hash.ts'

function hashOf(text: string, key: HashKey): [number, number] {
  return keyedHash(
    Uint16Array.from(text, (unit) => unit.charCodeAt(0)),
    text.length,
    key,
  )
}

test('each code unit, the length and both halves of the key change both halves of the hash', () => {
  const text = 'an odd number of code units'
  const others: [string, HashKey][] = [
    ...Array.from(text, (_, at): [string, HashKey] => [`${text.slice(0, at)}\u4e00${text.slice(at + 1)}`, [1, 2]]),
    [`${text}\0`, [1, 2]],
    [text.slice(0, -1), [1, 2]],
    ['', [1, 2]],
    [text, [1, 3]],
    [text, [2, 2]],
  ]
  const all = [hashOf(text, [1, 2]), ...others.map(([one, key]) => hashOf(one, key))]
  for (const half of [0, 1] as const) expect(new Set(all.map((hash) => hash[half])).size).toBe(all.length)
  expect(hashOf(text, [1, 2])).toEqual(all[0])
})

test('texts whose hashes are similar under one key are not under another', () => {
  const texts = Array.from({ length: 40_000 }, (_, index) => `line ${index.toString(36)}`)
  const [one, other]: [HashKey, HashKey] = [
    [1, 2],
    [3, 4],
  ]
  const isIn = (text: string, key: HashKey): boolean => hashOf(text, key)[0] % 256 === 0
  const chosen = texts.filter((text) => isIn(text, one))
  expect(chosen.length).toBeGreaterThan(100)
  expect(chosen.filter((text) => isIn(text, other)).length).toBeLessThan(chosen.length / 16)
})
