import { COUNTED_BY } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { COUNTED_BY_NAMES } from './build-values.ts'

test('the fields for counts are those of the protocol', () => {
  expect(COUNTED_BY_NAMES).toEqual(COUNTED_BY)
})
