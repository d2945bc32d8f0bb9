import { expect, test } from 'vitest'
import { computeStats } from './compute.ts'
import type { BuildSample, StepSample } from './samples.ts'

const DAY = 86_400_000
const START = Date.UTC(2026, 0, 5)
const MIB = 1_048_576

/** Returns the same sequence of numbers from 0 to 1 for a seed. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

function build(number: number, more: Partial<BuildSample> = {}): BuildSample {
  const createdAt = START + number * 3_600_000
  return { id: `b${number}`, number, status: 'success', createdAt, startedAt: createdAt, durationMs: 60_000, waits: {}, ...more }
}

function step(number: number, more: Partial<StepSample> = {}): StepSample {
  return { buildId: `b${number}`, step: 'test', attempt: 1, try: 1, status: 'success', startedAt: 0, finishedAt: 1000, ...more }
}

/** Builds with durations around a base that rises by a share from one build on. */
function series(seed: number, { noise, at, rise }: { noise: number; at: number; rise: number }): BuildSample[] {
  const next = random(seed)
  return Array.from({ length: 80 }, (_, index) => {
    const base = index + 1 >= at ? 60_000 * (1 + rise) : 60_000
    return build(index + 1, { durationMs: Math.round(base * (1 + noise * (next() * 2 - 1))) })
  })
}

test('percentiles, green share and waits of 500 builds equal a reference computation', () => {
  const next = random(7)
  const builds = Array.from({ length: 500 }, (_, index) =>
    build(index + 1, {
      status: next() < 0.2 ? 'error' : next() < 0.05 ? 'terminated' : 'success',
      durationMs: Math.floor(next() * 600_000),
      waits: next() < 0.5 ? { 'branch-limit': Math.floor(next() * 90_000), start: 2000 } : { start: Math.floor(next() * 5000) },
    }),
  )
  const stats = computeStats(builds, [], undefined)
  const sorted = (values: number[]): number[] => values.sort((one, other) => one - other)
  // Nearest rank, counted: the smallest value with at least this share of the values at or below it.
  const rank = (values: number[], share: number): number | undefined =>
    sorted(values).find((value) => values.filter((other) => other <= value).length >= share * values.length)
  const green = builds.filter(({ status }) => status === 'success')
  const red = builds.filter(({ status }) => status === 'error')
  const times = green.map(({ durationMs = 0 }) => durationMs)
  const limited = builds.flatMap(({ waits }) => waits['branch-limit'] ?? [])
  const all = builds.map(({ waits }) => (waits['branch-limit'] ?? 0) + (waits['start'] ?? 0))
  expect(stats.builds).toEqual({
    total: 500,
    success: green.length,
    error: red.length,
    terminated: 500 - green.length - red.length,
  })
  expect(stats.greenShare).toBeCloseTo(green.length / (green.length + red.length), 10)
  expect(stats.duration).toEqual({ count: green.length, p50Ms: rank(times, 0.5), p95Ms: rank(times, 0.95) })
  expect(stats.wait).toEqual({ count: 500, p50Ms: rank(all, 0.5), p95Ms: rank(all, 0.95) })
  expect(stats.waits[0]).toEqual({
    cause: 'branch-limit',
    count: limited.length,
    totalMs: limited.reduce((sum, ms) => sum + ms, 0),
    p50Ms: rank(limited, 0.5),
    p95Ms: rank(limited, 0.95),
  })
  expect(stats.weeks.reduce((sum, { success }) => sum + success, 0)).toBe(green.length)
  expect(stats.weeks.every(({ week }) => new Date(week).getUTCDay() === 1 && (week - START) % (7 * DAY) === 0)).toBe(true)
})

test.each([1, 2, 3, 4, 5, 6, 7, 8])('names the first build of a change, with seed %i', (seed) => {
  const at = 20 + seed * 5
  const { slower } = computeStats(series(seed, { noise: 0.08, at, rise: 0.5 }), [], undefined)
  expect(slower).toMatchObject([{ first: { number: at } }])
  expect(slower[0]?.afterMs).toBeGreaterThan((slower[0]?.beforeMs ?? Infinity) * 1.2)
})

test('says nothing about noise, about small changes, and about a change that was taken back', () => {
  for (let seed = 1; seed <= 200; seed += 1)
    expect(computeStats(series(seed, { noise: 0.3, at: 1000, rise: 0 }), [], undefined).slower).toEqual([])
  expect(computeStats(series(1, { noise: 0.02, at: 40, rise: 0.1 }), [], undefined).slower).toEqual([])
  const short = series(1, { noise: 0, at: 40, rise: 1 }).map((one) => ({ ...one, durationMs: (one.durationMs ?? 0) / 10 }))
  expect(computeStats(short, [], undefined).slower).toEqual([])
  const back = series(1, { noise: 0.02, at: 40, rise: 1 }).map((one) => (one.number > 55 ? { ...one, durationMs: 60_000 } : one))
  expect(computeStats(back, [], undefined).slower).toEqual([])
})

test('names the step that became slower', () => {
  const builds = Array.from({ length: 40 }, (_, index) => build(index + 1))
  const steps = builds.flatMap(({ number }) => [
    step(number, { step: 'lint', finishedAt: 5000 }),
    step(number, { step: 'test', finishedAt: number >= 21 ? 30_000 : 10_000 }),
  ])
  expect(computeStats(builds, steps, undefined).slower).toMatchObject([
    { step: 'test', beforeMs: 10_000, afterMs: 30_000, first: { id: 'b21', number: 21 } },
  ])
})

test('lists as flaky exactly the steps that failed and succeeded without a change', () => {
  const builds = [
    build(1, { revision: 'aa' }),
    build(2, { revision: 'aa' }),
    build(3, { revision: 'bb' }),
    build(4, { revision: 'cc' }),
  ]
  const error = { status: 'error', reason: 'exit-code' }
  const steps = [
    step(1, { step: 'retried', ...error }),
    step(1, { step: 'retried', try: 2 }),
    step(1, { step: 'same', ...error }),
    step(2, { step: 'same' }),
    step(3, { step: 'fixed', ...error }),
    step(4, { step: 'fixed' }),
    step(3, { step: 'lost', status: 'error', reason: 'node-lost' }),
    step(3, { step: 'lost', attempt: 2 }),
    step(4, { step: 'red', ...error }),
    step(4, { step: 'red', try: 2, ...error }),
  ]
  expect(computeStats(builds, steps, undefined).flaky).toEqual([
    { step: 'retried', builds: 1, of: 1, evidence: [{ id: 'b1', number: 1, kind: 'later-try', revision: 'aa' }] },
    { step: 'same', builds: 1, of: 2, evidence: [{ id: 'b1', number: 1, kind: 'same-commit', revision: 'aa' }] },
  ])
})

test('says that builds ask for too much memory, and counts steps that ran at the same time together', () => {
  const builds = Array.from({ length: 12 }, (_, index) => build(index + 1))
  const serial = builds.flatMap(({ number }) => [
    step(number, { step: 'one', memoryBytes: 600 * MIB }),
    step(number, { step: 'two', startedAt: 1000, finishedAt: 2000, memoryBytes: 500 * MIB }),
  ])
  expect(computeStats(builds, serial, 4096 * MIB).oversized).toEqual({ asked: 4096 * MIB, p95: 600 * MIB, builds: 12 })
  expect(computeStats(builds, serial, 1100 * MIB).oversized).toBeUndefined()
  const parallel = serial.map((one) => ({ ...one, startedAt: 0, finishedAt: 1000 }))
  expect(computeStats(builds, parallel, 4096 * MIB).oversized?.p95).toBe(1100 * MIB)
  expect(computeStats(builds.slice(0, 5), serial.slice(0, 10), 4096 * MIB).oversized).toBeUndefined()
})

test('counts the builds whose memory was measured for each step', () => {
  const builds = [build(1), build(2), build(3)]
  const steps = [
    step(1, { memoryBytes: 600 * MIB }),
    step(1, { try: 2, memoryBytes: 700 * MIB }),
    step(2, { memoryBytes: 500 * MIB }),
    step(3),
  ]
  expect(computeStats(builds, steps, undefined).steps).toMatchObject([{ step: 'test', memoryP95: 700 * MIB, memoryBuilds: 2 }])
})
