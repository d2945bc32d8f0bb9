import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ATTEMPT_STATUSES, ATTEMPT_TRIGGERS, attemptTransition, BUILD_TRIGGERS, transition } from './build-transition.ts'
import { BUILD_STATUSES, FINAL_BUILD_STATUSES, isFinalBuild } from '../lists.ts'
import type { BuildStatus } from '../lists.ts'

test('a build goes through pending, elected and running to a final status', () => {
  expect(transition('pending', 'elect')).toBe('elected')
  expect(transition('elected', 'begin')).toBe('running')
  expect(transition('running', 'end-success')).toBe('success')
})

test('a late event never changes a final build', () => {
  for (const status of FINAL_BUILD_STATUSES)
    for (const trigger of BUILD_TRIGGERS) expect(transition(status, trigger)).toBeUndefined()
})

test('a cancel and the end of the attempt end every build', () => {
  for (const status of BUILD_STATUSES.filter((one) => !isFinalBuild(one))) {
    const stopping = status === 'terminating' ? status : transition(status, 'cancel')
    const end = stopping === 'terminating' ? transition(stopping, 'end-success') : stopping
    expect([status, end]).toEqual([status, 'terminated'])
  }
})

test('every sequence of triggers stays within the statuses, and final statuses never change', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...BUILD_TRIGGERS)), (triggers) => {
      let status: BuildStatus = 'pending'
      for (const trigger of triggers) {
        const next = transition(status, trigger)
        if (isFinalBuild(status)) expect(next).toBeUndefined()
        if (next !== undefined) expect(BUILD_STATUSES).toContain(next)
        status = next ?? status
      }
    }),
  )
})

test('a lost attempt never comes back and an ended one never changes', () => {
  expect(attemptTransition('suspect', 'heartbeat')).toBe('started')
  expect(attemptTransition('lost', 'heartbeat')).toBeUndefined()
  expect(attemptTransition('lost', 'confirm')).toBe('ended')
  for (const trigger of ATTEMPT_TRIGGERS) expect(attemptTransition('ended', trigger)).toBeUndefined()
  for (const status of ATTEMPT_STATUSES)
    for (const trigger of ATTEMPT_TRIGGERS) {
      const next = attemptTransition(status, trigger)
      if (next !== undefined) expect(ATTEMPT_STATUSES).toContain(next)
    }
})
