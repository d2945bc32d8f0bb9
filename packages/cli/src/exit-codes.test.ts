import { fault } from '@windlass/kit/faults'
import { expect, test } from 'vitest'
import { EXIT, exitCodeOf } from './exit-codes.ts'

test.each([
  { what: 'not-found of the server', error: fault('not-found'), code: EXIT.notFound },
  { what: 'the 404 page of a proxy', error: fault('proxy-answered', { foreign: true }), code: EXIT.unreachable },
  { what: 'the 502 page of a proxy', error: fault('unavailable', { foreign: true }), code: EXIT.unreachable },
  { what: 'the 403 page of a proxy', error: fault('forbidden', { foreign: true }), code: EXIT.notAllowed },
])('exits with $code after $what', ({ error, code }) => {
  expect(exitCodeOf(error)).toBe(code)
})
