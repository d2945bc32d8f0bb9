import { expect, test } from 'vitest'
import { parseJson } from './json.ts'

test('returns undefined for text that is not JSON', () => {
  expect(parseJson('{"a":[1]}')).toEqual({ a: [1] })
  expect(parseJson('null')).toBeNull()
  for (const text of ['', '<html>', '{"a":']) expect(parseJson(text)).toBeUndefined()
})
