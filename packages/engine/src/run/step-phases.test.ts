import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openPhases } from './step-phases.ts'

test('reports a phase once it has lasted for a second, and all phases at the end', async () => {
  const clock = manualClock(1_000)
  const long: string[] = []
  const phases = openPhases({ clock, onLong: ({ phase, at }) => long.push(`${phase} since ${at}`) })
  phases.begin('pull')
  clock.advance(900)
  phases.begin('create')
  clock.advance(100)
  phases.begin('run')
  clock.advance(5_000)
  await Promise.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  expect(long).toEqual(['run since 2000'])
  phases.begin('export')
  const all = phases.end()
  clock.advance(5_000)
  await new Promise((resolve) => setImmediate(resolve))
  expect(long).toHaveLength(1)
  expect(all).toEqual([
    { phase: 'pull', at: 1_000 },
    { phase: 'create', at: 1_900 },
    { phase: 'run', at: 2_000 },
    { phase: 'export', at: 7_000 },
  ])
})
