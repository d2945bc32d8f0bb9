import { expect, test } from 'vitest'
import { readFilter, writeFilter, type ApplicationFilter } from './filter.ts'

test.each<ApplicationFilter>([
  {},
  { health: 'degraded' },
  { health: 'healthy', sync: 'out-of-sync', runtime: 'prod', project: 'shop', q: 'a b&c', sort: 'changed' },
])('%j is the same after it was in an address', (filter) => {
  expect(readFilter(writeFilter(filter))).toEqual(filter)
})

test('values that do not exist are left out', () => {
  expect(readFilter('?health=fine&sync=&sort=toString&runtime=%20&q= x ')).toEqual({ q: 'x' })
})
