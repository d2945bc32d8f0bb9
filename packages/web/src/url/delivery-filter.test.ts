import { expect, test } from 'vitest'
import { readDeliveryFilter, toDeliveryQuery, writeDeliveryFilter } from './delivery-filter.ts'

test('filters survive the address, and what is no filter is ignored (W010)', () => {
  const filter = { outcome: 'nothing', repo: 'acme/app', branch: 'a&b', reason: 'branch' } as const
  expect(readDeliveryFilter(writeDeliveryFilter(filter))).toEqual(filter)
  expect(readDeliveryFilter('?outcome=odd&color=red&repo=%20')).toEqual({})
})

test('the outcomes are queries of the server', () => {
  expect(toDeliveryQuery({ outcome: 'built', repo: 'a/b' })).toEqual({ built: 'true', repo: 'a/b' })
  expect(toDeliveryQuery({ outcome: 'nothing' })).toEqual({ built: 'false', status: 'processed' })
  expect(toDeliveryQuery({ outcome: 'refused' })).toEqual({ status: 'refused' })
})
