import { expect, test } from 'vitest'
import { fromViewFilter, isOfView, toViewFilter } from './view-filter.ts'

test('a view keeps filters without times, and gives them back', () => {
  const filter = { status: ['error'], by: ['mira', 'jo'], q: 'tax' }
  expect(toViewFilter({ ...filter, from: 1, to: 2 })).toEqual({ status: ['error'], initiator: ['mira', 'jo'], q: 'tax' })
  expect(fromViewFilter(toViewFilter(filter))).toEqual(filter)
})

test('recognizes the filters of a view in any order', () => {
  expect(isOfView({ by: ['jo', 'mira'], status: ['error'] }, { status: ['error'], initiator: ['mira', 'jo'] })).toBe(true)
  expect(isOfView({ status: ['error'] }, { status: ['error'], q: 'tax' })).toBe(false)
  expect(isOfView({}, {})).toBe(true)
})
