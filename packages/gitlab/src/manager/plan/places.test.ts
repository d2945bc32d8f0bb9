import { expect, test } from 'vitest'
import { openPlaces } from './places.ts'

test('jobs take the lowest free numbers, of their runner and of their project there', () => {
  const places = openPlaces()
  const first = places.take('a', 1)
  expect(first).toEqual({ concurrentId: 0, concurrentProjectId: 0 })
  expect(places.take('a', 2)).toEqual({ concurrentId: 1, concurrentProjectId: 0 })
  expect(places.take('a', 1)).toEqual({ concurrentId: 2, concurrentProjectId: 1 })
  expect(places.take('b', 1)).toEqual({ concurrentId: 0, concurrentProjectId: 0 })
  places.free('a', 1, first)
  expect(places.take('a', 1)).toEqual({ concurrentId: 0, concurrentProjectId: 0 })
})

test('the numbers of a job that already runs are taken', () => {
  const places = openPlaces()
  places.occupy('a', 1, { concurrentId: 0, concurrentProjectId: 1 })
  expect(places.take('a', 1)).toEqual({ concurrentId: 1, concurrentProjectId: 0 })
  expect(places.take('a', 1)).toEqual({ concurrentId: 2, concurrentProjectId: 2 })
})
