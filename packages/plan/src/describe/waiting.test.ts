import { expect, test } from 'vitest'
import { describeBuild } from './describe-build.ts'
import { formatProgress, formatWaiting, type Wait } from './waiting.ts'

const holder = (number: number): NonNullable<Wait['holders']>[number] => ({
  number,
})

test('shows the place and the builds that hold the limit', () => {
  const waiting: Wait = { place: 2, used: 3, limit: 3, holders: [holder(7), holder(9)] }
  expect(formatWaiting(waiting)).toBe('place 2, behind #7 #9 …')
  expect(formatWaiting({ ...waiting, place: 1, used: 2, limit: 2 })).toBe('next, behind #7 #9')
  expect(formatWaiting({ place: 4, used: 2, limit: 2 })).toBe('place 4, 2 of 2 run')
  expect(formatWaiting({})).toBe('')
})

test('shows the progress with failures and the current step', () => {
  expect(formatProgress({ total: 9, done: 3, failed: 0, current: 'unit_tests' })).toBe('3/9 unit_tests')
  expect(formatProgress({ total: 9, done: 9, failed: 1 })).toBe('9/9 (1 failed)')
  expect(formatProgress(undefined)).toBe('')
})

test('says that the debugger holds a running build', () => {
  const progress = { total: 3, done: 1, failed: 0, current: 'unit_tests' }
  const build = { status: 'running', progress, waiting: { reason: 'debugger' } }
  expect(describeBuild(build)).toBe('runs unit_tests, 1 of 3 steps done: The step is stopped in the debugger')
  expect(describeBuild({ ...build, waiting: undefined })).toBe('runs unit_tests, 1 of 3 steps done')
})
