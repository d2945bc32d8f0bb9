import { expect, test } from 'vitest'
import { nearest } from './suggest.ts'

const KEYS = ['title', 'description', 'retry', 'working_directory', 'candidate', 'image_name', 'only', 'type']

test('P173: the shortest word that starts with the wrong one is suggested first', () => {
  expect(nearest('working_dir', KEYS)).toBe('working_directory')
  expect(nearest('on', KEYS)).toBe('only')
  expect(nearest('t', ['title', 'tags', 'tag'])).toBe('tag')
})

test('P173: else the nearest of a like length, below five edits, the first on a tie', () => {
  expect(nearest('titl', KEYS)).toBe('title')
  expect(nearest('warcing_derektory', KEYS)).toBe('working_directory')
  expect(nearest('condidate', KEYS)).toBe('candidate')
  expect(nearest('repo', KEYS)).toBe('retry')
})

test('P173: what is too far away gets no suggestion, and a word is never suggested for itself', () => {
  expect(nearest('titleaaa', KEYS)).toBeUndefined()
  expect(nearest('ing_directory', KEYS)).toBeUndefined()
  expect(nearest('warcing_derektori', KEYS)).toBeUndefined()
  expect(nearest('title', ['title'])).toBeUndefined()
  expect(nearest('', KEYS)).toBeUndefined()
})
