import { expect, test } from 'vitest'
import { describeNewest, describeStats } from './sentence.ts'

const build = (number: number, status: string, branch = 'main') => ({ number, status, branch })

test('names the build since which a branch is red', () => {
  expect(describeNewest([build(4, 'running'), build(3, 'error'), build(2, 'error'), build(1, 'success')])?.text).toBe(
    'Red on main since #2.',
  )
  expect(describeNewest([build(5, 'error'), build(4, 'success', 'next'), build(3, 'terminated'), build(2, 'error')])?.text).toBe(
    'Red on main since #2.',
  )
  expect(describeNewest([build(3, 'error'), build(2, 'success')])?.text).toBe('Red on main: #3 failed.')
  expect(describeNewest([build(3, 'success'), build(2, 'error')])?.text).toBe('Green on main: #3 succeeded.')
  expect(describeNewest([build(1, 'running')])).toBeUndefined()
})

test('leaves out what is not known', () => {
  const stats = {
    from: 0,
    to: 1,
    isExact: true,
    builds: { total: 61, success: 50, error: 11, terminated: 0 },
    greenShare: 50 / 61,
    duration: { count: 50, p50Ms: 340_000, p95Ms: 430_000 },
    wait: { count: 61, p50Ms: 0, p95Ms: 41_000 },
    waits: [],
    weeks: [],
    steps: [],
    slower: [],
    flaky: [],
  }
  expect(describeStats(stats, 30)).toBe(
    '82 % of 61 builds green in 30 days, median 5:40, 95 % within 7:10, 95 % wait at most 0:41.',
  )
  const none = { ...stats, builds: { total: 0, success: 0, error: 0, terminated: 0 } }
  expect(describeStats(none, 30)).toBe('No builds ended in 30 days.')
})
