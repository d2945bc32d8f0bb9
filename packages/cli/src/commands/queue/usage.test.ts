import { expect, test } from 'vitest'
import { sizeAdvice, usageTable } from './usage.ts'

test('shows the time of each phase over all tries, the highest memory and the most processors', () => {
  const table = usageTable({
    isCut: false,
    steps: [
      {
        step: 'unit',
        attempt: 1,
        points: [
          { at: 1, memoryBytes: 1_048_576, processors: 0.5 },
          { at: 2, memoryBytes: 3_145_728, processors: 1.25 },
        ],
        memoryLimitBytes: 2 ** 30,
        phases: [
          { phase: 'pull', from: 0, to: 2_000 },
          { phase: 'run', from: 2_000, to: 5_000 },
          { phase: 'run', from: 6_000, to: 10_000 },
        ],
      },
      { step: 'late', attempt: 2, points: [], phases: [{ phase: 'run', from: 1 }] },
    ],
  })
  expect(table[0]).toMatch(/^STEP +PULL +RUN +MEMORY +PROCESSORS$/)
  expect(table[1]).toMatch(/^unit +2.0 s +7.0 s +3 MiB of 1 GiB +1.25$/)
  expect(table[2]).toMatch(/^late \(attempt 2\) +…/)
})

test('names the memory that would do after five builds', () => {
  const steps = [{ step: 'unit', attempt: 1, points: [], phases: [], memoryLimitBytes: 2 ** 31 }]
  const stats = { step: 'unit', count: 5, failed: 0, memoryP95: 610 * 2 ** 20 }
  expect(sizeAdvice({ isCut: false, steps }, [{ ...stats, memoryBuilds: 4 }])).toEqual([])
  expect(sizeAdvice({ isCut: false, steps }, [{ ...stats, memoryBuilds: 5 }])).toEqual([
    'unit: Asks for 2 GiB, used at most 610 MiB in 95 % of 5 builds: `memory: 800Mi` would do.',
  ])
})
