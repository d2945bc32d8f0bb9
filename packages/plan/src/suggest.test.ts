import { expect, test } from 'vitest'
import { nearest } from './suggest.ts'

const KEYS = ['title', 'description', 'retry', 'working_directory', 'candidate', 'image_name', 'only', 'type']

test('suggests the shortest name that starts with the wrong one (P173)', () => {
  expect(nearest('working_dir', KEYS)).toBe('working_directory')
  expect(nearest('on', KEYS)).toBe('only')
  expect(nearest('t', ['title', 'tags', 'tag'])).toBe('tag')
})

test('suggests the nearest name of similar length, below five edits, the first on a tie (P173)', () => {
  expect(nearest('titl', KEYS)).toBe('title')
  expect(nearest('warcing_derektory', KEYS)).toBe('working_directory')
  expect(nearest('condidate', KEYS)).toBe('candidate')
  expect(nearest('repo', KEYS)).toBe('retry')
})

test('suggests nothing for a distant name and never the name itself (P173)', () => {
  expect(nearest('titleaaa', KEYS)).toBeUndefined()
  expect(nearest('ing_directory', KEYS)).toBeUndefined()
  expect(nearest('warcing_derektori', KEYS)).toBeUndefined()
  expect(nearest('title', ['title'])).toBeUndefined()
  expect(nearest('', KEYS)).toBeUndefined()
})
