import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nearest, nearMiss } from './suggest.ts'

const KEYS = ['title', 'description', 'retry', 'working_directory', 'candidate', 'image_name', 'only', 'type']

test('suggests the shortest name that starts with the wrong one (P173)', () => {
  expect(nearest('working_dir', KEYS)).toBe('working_directory')
  expect(nearest('on', KEYS)).toBe('only')
  expect(nearest('t', ['title', 'tags', 'tag'])).toBe('tag')
})

test('suggests the nearest name within one edit for each three characters and at most four, the first on a tie (P173)', () => {
  expect(nearest('titl', KEYS)).toBe('title')
  expect(nearest('warcing_derektory', KEYS)).toBe('working_directory')
  expect(nearest('condidate', KEYS)).toBe('candidate')
  expect(nearest('tset', ['seat', 'test'])).toBe('test')
  expect(nearest('rety', ['rest', 'retry'])).toBe('retry')
})

test('suggests nothing for a distant name and never the name itself (P173)', () => {
  expect(nearest('titleaaa', KEYS)).toBeUndefined()
  expect(nearest('ing_directory', KEYS)).toBeUndefined()
  expect(nearest('warcing_derektori', KEYS)).toBeUndefined()
  expect(nearest('title', ['title'])).toBeUndefined()
  expect(nearest('', KEYS)).toBeUndefined()
})

test('suggests nothing if the edits would change most of a short name (P173)', () => {
  expect(nearest('foo', ['hooks', 'mode', 'steps'])).toBeUndefined()
  expect(nearest('git', KEYS)).toBeUndefined()
  expect(nearest('repo', KEYS)).toBeUndefined()
  expect(nearest('put', ['set', 'unset'])).toBeUndefined()
  expect(nearest('v3', ['v1', 'v2'])).toBeUndefined()
})

test('for names of users, a beginning counts only within the same number of edits (P173)', () => {
  expect(nearMiss('a', ['alpine'])).toBeUndefined()
  expect(nearMiss('alp', ['alpine'])).toBeUndefined()
  expect(nearMiss('alpin', ['alpine'])).toBe('alpine')
  expect(nearMiss('cloen', ['clone'])).toBe('clone')
  expect(nearMiss('x', ['y'])).toBeUndefined()
})

test('finds the same names as a comparison of all characters with all others', () => {
  const distance = (a: string, b: string): number => {
    const rows = Array.from({ length: a.length + 1 }, (_, row) => [row])
    for (let row = 0; row <= a.length; row += 1)
      for (let column = 1; column <= b.length; column += 1) {
        const at = (up: number, left: number): number => rows[row - up]?.[column - left] ?? Infinity
        const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
        const least = Math.min(at(1, 0) + 1, at(0, 1) + 1, at(1, 1) + (a[row - 1] === b[column - 1] ? 0 : 1))
        rows[row]?.splice(
          column,
          1,
          row === 0 ? column : Math.min(least, isSwap && row > 1 && column > 1 ? at(2, 2) + 1 : Infinity),
        )
      }
    return rows[a.length]?.[b.length] ?? Infinity
  }
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 14 })
  fc.assert(
    fc.property(name, fc.array(name, { maxLength: 5 }), (wrong, known) => {
      const most = Math.min(4, Math.floor(wrong.length / 3))
      const near = known.filter((word) => word !== wrong && Math.abs(word.length - wrong.length) < 3)
      const least = Math.min(most, ...near.map((word) => distance(wrong, word)))
      expect(nearMiss(wrong, known)).toBe(near.find((word) => distance(wrong, word) === least))
    }),
    { numRuns: 2_000 },
  )
})
