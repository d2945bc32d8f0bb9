import { expect, test } from 'vitest'
import { readRemovals, writeRemovals } from './removals.ts'

test('writes volumes first, then images, and reads them back (R109)', () => {
  const removals = [
    { kind: 'volume', name: 'work' },
    { kind: 'image', id: 'sha256:1' },
    { kind: 'cache', keepBytes: 1024 },
  ] as const
  expect(writeRemovals(removals)).toBe('volume work\nimage sha256:1\ncache 1024\n')
  expect(readRemovals(writeRemovals(removals))).toEqual(removals)
  expect(readRemovals('volume\nimage a b\ncache many\nrm -rf\n\n')).toEqual([])
})
