import { expect, test } from 'vitest'
import { findCycles } from './cycles.ts'

const graph = (edges: Readonly<Record<string, readonly string[]>>): Map<string, readonly string[]> =>
  new Map(Object.entries(edges))

test('a graph without cycles has none', () => {
  expect(findCycles(graph({ a: ['b', 'c'], b: ['c'], c: ['node:fs'] }))).toEqual([])
})

test('two files that import each other, and one that imports itself, are cycles', () => {
  const cycles = findCycles(graph({ a: ['b'], b: ['a'], c: ['c'] }))
  expect(cycles.map((cycle) => cycle.toSorted())).toEqual([['a', 'b'], ['c']])
})

test('of a large group the shortest cycle is named', () => {
  const cycles = findCycles(graph({ a: ['b'], b: ['c'], c: ['d'], d: ['a', 'c'], e: ['a'] }))
  expect(cycles.map((cycle) => cycle.toSorted())).toEqual([['c', 'd']])
})
