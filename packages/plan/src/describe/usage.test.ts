import { expect, test } from 'vitest'
import { formatBytes, formatUsage } from './usage.ts'

test('formats sizes in the largest unit of at least 1', () => {
  expect([0, 900, 1536, 67_108_864, 1_503_238_553].map(formatBytes)).toEqual(['0 B', '900 B', '1.5 KiB', '64 MiB', '1.4 GiB'])
})

test('formats the usage of a step: memory with its limit, and CPU time', () => {
  expect(formatUsage({ memoryPeakBytes: 67_108_864, memoryLimitBytes: 134_217_728, cpuMs: 3210 })).toBe(
    '64 MiB of 128 MiB, 3.2 s CPU',
  )
  expect(formatUsage(undefined)).toBe('')
})
