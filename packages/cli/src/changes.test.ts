import { expect, test } from 'vitest'
import { readChanges } from './changes.ts'

test('words set values of their type, or remove them', () => {
  expect(readChanges(['a=1.5', 'b=true', 'c=x=y', 'd=', 'e=007', 'f-'])).toEqual({
    set: { a: 1.5, b: true, c: 'x=y', d: '', e: '007' },
    unset: ['f'],
  })
})

test('a word that is neither is refused', () => {
  for (const word of ['a', '=a', '-']) expect(() => readChanges([word])).toThrow('is no change')
})
