import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseProcessStat } from './process-stat.ts'

const REST = 'S 1 42 42 0 -1 4194560 100 0 0 0 250 37 9 9 20 0 4 0 8675309 1000 10 18446744073709551615'

test.each(['node', 'a b', 'evil) R 7 (x', ')'])('a program named "%s" does not shift the fields', (name) => {
  expect(parseProcessStat(`42 (${name}) ${REST}\n`)).toEqual({ state: 'S', cpuMs: 2870, startTicks: '8675309' })
})

test.each(['', '42 (node) S 1', 'no such process'])('the text "%s" is no process', (text) => {
  expect(parseProcessStat(text)).toBeUndefined()
})

test('this process runs', () => {
  const { state, cpuMs } = parseProcessStat(readFileSync('/proc/self/stat', 'utf8')) ?? {}
  expect(state).toBe('R')
  expect(cpuMs).toBeGreaterThan(0)
})
