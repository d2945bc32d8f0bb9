import { fault } from '@windlass/kit/faults'
import { expect, test } from 'vitest'
import { EXIT, exitCodeOf, worstOf } from './exit-codes.ts'

test.each([
  { what: 'not-found of the server', error: fault('not-found'), code: EXIT.notFound },
  { what: 'the 404 page of a proxy', error: fault('proxy-answered', { foreign: true }), code: EXIT.unreachable },
  { what: 'the 502 page of a proxy', error: fault('unavailable', { foreign: true }), code: EXIT.unreachable },
  { what: 'the 403 page of a proxy', error: fault('forbidden', { foreign: true }), code: EXIT.notAllowed },
])('exits with $code after $what', ({ error, code }) => {
  expect(exitCodeOf(error)).toBe(code)
})

test('a failed build outweighs a terminated one among several', () => {
  expect(worstOf([EXIT.success, EXIT.terminated, EXIT.failed])).toBe(EXIT.failed)
  expect(worstOf([EXIT.success, EXIT.terminated])).toBe(EXIT.terminated)
  expect(worstOf([])).toBe(EXIT.success)
})
