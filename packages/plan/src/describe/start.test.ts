import { expect, test } from 'vitest'
import { describeForecasts, describeStart } from './start.ts'

test('says whether a build would start at once, wait or fail', () => {
  expect(describeStart({})).toBe('It would start at once.')
  expect(describeStart({ missing: 'the context "a" does not exist' })).toBe('It would fail: the context "a" does not exist')
  const wait = { reason: 'pipeline-limit', place: 2, used: 1, limit: 1, holders: [{ number: 8 }], nextMs: 120_000 }
  expect(describeStart({ wait })).toBe(
    'It would wait at place 2, a place is free in about 2 m 00 s: pipeline-limit (1 of 1 by #8)',
  )
  expect(describeStart({ wait: { reason: 'paused', message: 'builds are paused', place: 1 } })).toBe(
    'It would wait at place 1: builds are paused',
  )
})

test('counts the steps by what becomes of them', () => {
  expect(describeForecasts([])).toBe('0 steps run')
  const steps = (['runs', 'runs', 'depends', 'skipped', 'skipped', 'fails'] as const).map((forecast) => ({ forecast }))
  expect(describeForecasts(steps)).toBe('2 steps run, 1 depends, 2 are skipped, 1 has an invalid condition')
})
