import { expect, test } from 'vitest'
import { readChanges } from './changes.ts'

test('parses typed values and removals', () => {
  expect(readChanges(['a=1.5', 'b=true', 'c=x=y', 'd=', 'e=007', 'f-'])).toEqual({
    set: { a: 1.5, b: true, c: 'x=y', d: '', e: '007' },
    unset: ['f'],
  })
})

test('rejects an argument that is neither a value nor a removal', () => {
  for (const word of ['a', '=a', '-']) expect(() => readChanges([word])).toThrow('is not a change')
})
