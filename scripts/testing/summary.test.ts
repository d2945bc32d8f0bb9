import { expect, test } from 'vitest'
import { GROUPS } from './groups.ts'
import { readFileSync } from 'node:fs'
import type { Outcome } from './outcome.ts'
import { describe, lastLine, type Budgets, type GroupResult, type RunResult } from './summary.ts'

const budgets: Budgets = { total: { warm: 100, bare: 200 }, groups: { unit: 10, http: 50 } }
const outcome = (more: Partial<Outcome> = {}): Outcome => ({
  passed: 2,
  failures: [],
  skips: [],
  repeats: [],
  unsteady: [],
  files: [],
  ...more,
})
const group = (name: string, seconds: number, more: Partial<Outcome> = {}): GroupResult => ({
  name,
  seconds,
  cpuSeconds: 1,
  outcome: outcome(more),
})
const run = (seconds: number, more: Partial<RunResult> = {}): RunResult => ({
  groups: [group('unit', 12), group('http', 40)],
  seconds,
  busyShare: 0.5,
  wasBare: false,
  isWhole: true,
  others: [],
  ...more,
})

test('the last line counts passes and failures, and skips if there are any', () => {
  expect(lastLine([group('unit', 1), group('http', 1)])).toBe('4 passed, 0 failed')
  expect(lastLine([group('unit', 1, { failures: ['x'], skips: ['y'] })])).toBe('2 passed, 1 failed, 1 skipped')
  expect(lastLine([group('unit', 1, { unsteady: ['x'] })])).toBe('2 passed, 0 failed, 1 unsteady')
})

test('lists unsteady tests with their failures', () => {
  const lines = describe(run(1, { groups: [group('http', 1, { unsteady: ['http: one\n    refused'] })] }), budgets, '/root')
  expect(lines).toContain('UNSTEADY, passed alone: http: one\n    refused')
})

const over = (result: RunResult): string[] => describe(result, budgets, '/root').filter((line) => line.startsWith('OVER BUDGET'))

test('reports a group over its budget', () => {
  expect(over(run(90))).toEqual([expect.stringMatching(/^OVER BUDGET unit: 12 s of 10 s/)])
})

test('reports a run over its total budget, which is larger if programs were compiled', () => {
  const ofRun = (result: RunResult): string[] => over(result).filter((line) => line.includes('the run'))
  expect(ofRun(run(150))).toEqual([expect.stringContaining('150 s of 100 s')])
  expect(ofRun(run(150, { wasBare: true }))).toEqual([])
  expect(ofRun(run(250, { wasBare: true }))).toEqual([expect.stringContaining('250 s of 200 s')])
  expect(ofRun(run(150, { isWhole: false }))).toEqual([])
})

test('lists the fifteen slowest files, slowest first', () => {
  const files = Array.from({ length: 20 }, (_, index) => ({
    name: `/root/packages/${index}.test.ts`,
    seconds: index,
    passed: 1,
    failures: 0,
    skips: 0,
  }))
  const lines = describe(run(1, { groups: [group('unit', 1, { files })] }), budgets, '/root').filter((line) =>
    line.includes('.test.ts'),
  )
  expect(lines).toHaveLength(15)
  expect(lines[0]).toMatch(/^ +19 s {2}packages\/19\.test\.ts$/)
})

test('a run of all groups names those that were not asked for', () => {
  const named = (line: string): boolean => line.startsWith('not in this run: ')
  const lines = (more: Partial<RunResult>): string[] => describe(run(1, more), budgets, '/root').filter(named)
  expect(lines({ others: ['drills'] })).toEqual(['not in this run: drills; run `make chaos`'])
  expect(lines({ others: [] })).toEqual([])
  expect(lines({ others: ['drills'], isWhole: false })).toEqual([])
})

test('every group has a budget, and the budgets fit two lanes of a warm run', () => {
  const kept: Budgets = JSON.parse(readFileSync(new URL('../test-budget.json', import.meta.url), 'utf8'))
  expect(Object.keys(kept.groups).toSorted()).toEqual(GROUPS.map(({ name }) => name).toSorted())
  const inTest = GROUPS.filter(({ isLong }) => isLong !== true)
  const sum = inTest.reduce((total, { name }) => total + (kept.groups[name] ?? 0), 0)
  expect(sum).toBeLessThanOrEqual(2 * kept.total.warm)
})
