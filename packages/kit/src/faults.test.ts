import { expect, test } from 'vitest'
import { Fault, fault, faults, isFault, isFaultCode, type FaultSpec } from './faults.ts'

test.each(Object.entries<FaultSpec>(faults))('the fault %s says what happened and what to do', (code, spec) => {
  expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/)
  expect(spec.text).toMatch(/^[A-Z].*\.$/)
  expect(spec.hint).toMatch(/^[A-Z`].*[.`]$/)
  expect(spec.status).toBeGreaterThanOrEqual(400)
})

test('a fault carries its code, its own words and the remedy of the table', () => {
  const cause = new Error('below')
  const made = fault('not-found', { message: 'There is no build 42.' }, cause)
  expect(made).toBeInstanceOf(Fault)
  expect([made.message, made.status, made.hint, made.cause]).toEqual([
    'There is no build 42.',
    404,
    faults['not-found'].hint,
    cause,
  ])
  expect(isFault(made, 'not-found')).toBe(true)
  expect(isFault(made, 'conflict')).toBe(false)
})

test('codes that are not in the table are told apart, names of Object among them', () => {
  expect(isFaultCode('not-found')).toBe(true)
  expect(isFaultCode('toString')).toBe(false)
})
