import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseStarts, startLimitOf, type WaitingStart } from './choose-starts.ts'

const start = (taskId: string, more: Partial<WaitingStart> = {}): WaitingStart => ({
  taskId,
  nodeGroup: '',
  isWarm: false,
  limit: 2,
  ...more,
})

const chosen = (waiting: readonly WaitingStart[], inProgress: Readonly<Record<string, number>> = {}): string[] =>
  chooseStarts(waiting, new Map(Object.entries(inProgress))).map(({ taskId }) => taskId)

test('starts builds before warm pairs, each by age', () => {
  const waiting = [start('1', { isWarm: true }), start('4'), start('3'), start('2', { isWarm: true })]
  expect(chosen(waiting)).toEqual(['3', '4'])
  expect(chosen(waiting.map((each) => ({ ...each, limit: 3 })))).toEqual(['3', '4', '1'])
})

test('a start in progress takes one place of its nodes only', () => {
  const waiting = [start('1'), start('2'), start('3', { nodeGroup: 'pool=large' })]
  expect(chosen(waiting, { '': 1 })).toEqual(['1', '3'])
  expect(chosen(waiting, { '': 2 })).toEqual(['3'])
  expect(chosen(waiting, { 'pool=large': 2 })).toEqual(['1', '2'])
})

test('a later start with a higher limit does not overtake one that waits', () => {
  expect(chosen([start('1', { limit: 1 }), start('2', { limit: 9 })], { '': 1 })).toEqual([])
})

test('never exceeds a limit, and chooses while there is room', () => {
  const waiting = fc.uniqueArray(
    fc.record({ taskId: fc.string({ minLength: 1 }), nodeGroup: fc.constantFrom('a', 'b'), isWarm: fc.boolean() }),
    { selector: ({ taskId }) => taskId, maxLength: 30 },
  )
  const counts = fc.record({ a: fc.nat(5), b: fc.nat(5) })
  fc.assert(
    fc.property(waiting, counts, fc.integer({ min: 1, max: 6 }), (starts, used, limit) => {
      const all = starts.map((each) => ({ ...each, limit }))
      const begun = chooseStarts(all, new Map(Object.entries(used)))
      for (const nodeGroup of ['a', 'b'] as const) {
        const [wanted, got] = [all, begun].map((list) => list.filter((each) => each.nodeGroup === nodeGroup).length)
        expect(got).toBe(Math.min(wanted ?? 0, Math.max(0, limit - used[nodeGroup])))
      }
    }),
  )
})

test.each([
  ['per core', { perCore: 2 }, 4, 8],
  ['a part of a core', { perCore: 2 }, 1.93, 3],
  ['at most the maximum', { perCore: 2, max: 5 }, 4, 5],
  ['a cluster without nodes', { perCore: 2 }, 0, 1],
  ['unreadable nodes', { perCore: 2 }, undefined, 8],
] as const)('limits starts: %s', (_, rate, cores, limit) => {
  expect(startLimitOf(rate, cores)).toBe(limit)
})
