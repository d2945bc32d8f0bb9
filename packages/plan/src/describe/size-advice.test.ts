import { expect, test } from 'vitest'
import { adviseSize } from './size-advice.ts'

const MIB = 1_048_576
const facts = { memoryLimitBytes: 2048 * MIB, memoryP95: 610 * MIB, builds: 20 }

test('names the field and the size that would do, a fifth above the usual peak (W034)', () => {
  expect(adviseSize(facts)).toEqual({
    size: '800Mi',
    text: 'Asks for 2 GiB, used at most 610 MiB in 95 % of 20 builds: `memory: 800Mi` would do.',
  })
  expect(adviseSize({ ...facts, memoryLimitBytes: 8192 * MIB, memoryP95: 1600 * MIB })?.size).toBe('2Gi')
  expect(adviseSize({ ...facts, memoryLimitBytes: 8192 * MIB, memoryP95: 900 * MIB })?.size).toBe('1280Mi')
})

test('the size is never below 1.2 times the peak', () => {
  for (let peak = 1; peak < 7000; peak += 13) {
    const size = adviseSize({ memoryLimitBytes: 1e13, memoryP95: peak * MIB, builds: 5 })?.size ?? ''
    const bytes = Number.parseInt(size, 10) * (size.endsWith('Gi') ? 1024 : 1)
    expect(bytes).toBeGreaterThanOrEqual(peak * 1.2)
  }
})

test('says nothing before five builds, and if the step needs what it asks for (W034)', () => {
  expect(adviseSize({ ...facts, builds: 4 })).toBeUndefined()
  expect(adviseSize({ ...facts, builds: 5 })).toBeDefined()
  expect(adviseSize({ ...facts, memoryP95: 1900 * MIB })).toBeUndefined()
})
