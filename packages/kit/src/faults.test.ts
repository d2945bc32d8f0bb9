import { expect, test } from 'vitest'
import { endsWork, isRefusal } from './process/endings.ts'
import { Fault, fault, faults, isFault, isFaultCode, type FaultSpec } from './faults.ts'

test.each(Object.entries<FaultSpec>(faults))('the fault %s has a text and a hint', (code, spec) => {
  expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/)
  expect(spec.text).toMatch(/^[A-Z].*\.$/)
  expect(spec.hint).toMatch(/^[A-Z`].*[.`]$/)
  expect(spec.status).toBeGreaterThanOrEqual(400)
})

test.each(Object.keys(faults).filter(isFaultCode))('the hint of %s mentions problems only if there are some', (code) => {
  const problems = [{ message: 'odd', path: 'a' }]
  const spec: FaultSpec = faults[code]
  expect(fault(code, { message: 'No.' }).hint).not.toContain('problems')
  expect(fault(code, { problems: [] }).hint).toBe(spec.hint)
  expect(fault(code, { problems }).hint).toBe(spec.problemsHint ?? spec.hint)
  expect(fault(code, { problems, hint: 'Own.' }).hint).toBe('Own.')
})

test('a fault has its own message, and status and hint of the table', () => {
  const cause = new Error('below')
  const made = fault('not-found', { message: 'Build 42 does not exist.' }, cause)
  expect(made).toBeInstanceOf(Fault)
  expect([made.message, made.status, made.hint, made.cause]).toEqual([
    'Build 42 does not exist.',
    404,
    faults['not-found'].hint,
    cause,
  ])
  expect(isFault(made, 'not-found')).toBe(true)
  expect(isFault(made, 'conflict')).toBe(false)
})

test('only these faults end work', () => {
  const ending = Object.entries<FaultSpec>(faults).flatMap(([code, { ends }]) => (ends === undefined ? [] : [[code, ends]]))
  expect(Object.fromEntries(ending)).toEqual({
    unauthenticated: ['attempt', 'claim', 'agent'],
    forbidden: ['agent'],
    'claim-used': ['claim'],
    'protocol-unsupported': ['claim', 'agent'],
    'attempt-stale': ['attempt', 'claim'],
    'agent-fenced': ['agent'],
  })
  expect(endsWork('attempt', fault('attempt-stale'))).toBe(true)
  expect(endsWork('attempt', fault('attempt-stale', { foreign: true }))).toBe(false)
  expect(endsWork('agent', fault('attempt-stale'))).toBe(false)
})

test('isRefusal accepts only faults of our server that a retry would repeat', () => {
  expect(isRefusal(fault('request-invalid'))).toBe(true)
  for (const error of [fault('request-invalid', { foreign: true }), fault('internal'), fault('unavailable'), new Error('x')])
    expect(isRefusal(error)).toBe(false)
})

test('isFaultCode rejects unknown codes and property names of Object', () => {
  expect(isFaultCode('not-found')).toBe(true)
  expect(isFaultCode('toString')).toBe(false)
})
