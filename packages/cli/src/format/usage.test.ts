import { expect, test } from 'vitest'
import { formatBytes, formatUsage } from './usage.ts'

test('sizes are told in the largest unit that leaves a number to read', () => {
  expect([0, 900, 1536, 67_108_864, 1_503_238_553].map(formatBytes)).toEqual(['0 B', '900 B', '1.5 KiB', '64 MiB', '1.4 GiB'])
})

test('what a step used is one cell: memory with its limit, and processor time', () => {
  expect(formatUsage({ memoryPeakBytes: 67_108_864, memoryLimitBytes: 134_217_728, cpuMs: 3210 })).toBe(
    '64 MiB of 128 MiB, 3.2 s CPU',
  )
  expect(formatUsage(undefined)).toBe('')
})
