import { expect, test } from 'vitest'
import type { Start } from '../store/runtimes/warm-pairs.ts'
import { wantedPairs } from './desired.ts'

function start(pipeline: string, at: number): Start {
  return { runtime: 'prod', at, pipeline_id: pipeline, project_id: null, trigger: 'manual', trigger_name: null, branch: 'main' }
}
const byPipeline = ({ pipeline_id: pipeline }: Start): string => pipeline ?? ''
const counts = (starts: readonly Start[], bounds: { min: number; max: number }): Record<string, number> =>
  Object.fromEntries([...wantedPairs(starts, bounds, byPipeline)].map(([key, { count }]) => [key, count]))

test('wants as many pairs as builds started in the busiest minute, up to the maximum', () => {
  const burst = [0, 10_000, 20_000, 200_000].map((at) => start('a', at))
  expect(counts(burst, { min: 0, max: 10 })).toEqual({ a: 3 })
  expect(counts(burst, { min: 0, max: 2 })).toEqual({ a: 2 })
})

test('serves the busiest kind first if the maximum is reached', () => {
  const starts = [start('a', 0), start('b', 0), start('b', 1), start('b', 2)]
  expect(counts(starts, { min: 0, max: 3 })).toEqual({ b: 3 })
  expect(counts(starts, { min: 0, max: 4 })).toEqual({ b: 3, a: 1 })
})

test('gives the minimum to the busiest kind, and wants no pairs before the first build', () => {
  expect(counts([start('a', 0)], { min: 3, max: 5 })).toEqual({ a: 3 })
  expect(counts([], { min: 3, max: 5 })).toEqual({})
})

test('limits the minimum to the maximum', () => {
  expect(counts([start('a', 0)], { min: 9, max: 2 })).toEqual({ a: 2 })
})

test('models pairs on the newest build of their kind', () => {
  const wanted = wantedPairs([start('a', 5), { ...start('a', 9), branch: 'newest' }], { min: 0, max: 1 }, byPipeline)
  expect(wanted.get('a')?.like.branch).toBe('newest')
})
