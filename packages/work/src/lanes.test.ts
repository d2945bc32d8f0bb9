import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLaneGroups, openLanes } from './lanes.ts'

test('processes the pieces of a lane one at a time and in order, within the limit of concurrency (R228)', async () => {
  const pieces = fc.array(fc.record({ lane: fc.constantFrom('a', 'b', 'c', 'd', 'e'), turns: fc.nat(4) }), { maxLength: 40 })
  const limits = fc.record({ concurrency: fc.integer({ min: 1, max: 4 }), buffer: fc.integer({ min: 1, max: 6 }) })
  await fc.assert(
    fc.asyncProperty(pieces, limits, async (list, { concurrency, buffer }) => {
      const inProgress = new Set<string>()
      const done: number[] = []
      let [now, most] = [0, 0]
      const lanes = openLanes<number>({
        concurrency,
        buffer,
        async work(n) {
          const { lane = '', turns = 0 } = list[n] ?? {}
          expect(inProgress.has(lane)).toBe(false)
          inProgress.add(lane)
          now += 1
          most = Math.max(most, now)
          for (let i = 0; i < turns; i += 1) await turn()
          now -= 1
          inProgress.delete(lane)
          done.push(n)
        },
      })
      for (const [n, { lane }] of list.entries()) {
        await lanes.add(lane, n)
        expect(lanes.waiting).toBeLessThan(buffer)
      }
      await lanes.idle()
      expect(most).toBeLessThanOrEqual(concurrency)
      expect(done.toSorted((a, b) => a - b)).toEqual(list.map((_, n) => n))
      for (const lane of 'abcde') {
        const ofLane = done.filter((n) => list[n]?.lane === lane)
        expect(ofLane).toEqual(ofLane.toSorted((a, b) => a - b))
      }
    }),
    { numRuns: 200 },
  )
})

test('wakes both callers that wait for room', async () => {
  const held = Promise.withResolvers<void>()
  const lanes = openLanes<number>({ concurrency: 1, buffer: 1, work: () => held.promise })
  await lanes.add('a', 1)
  const waiting = [lanes.add('b', 2), lanes.add('c', 3)]
  held.resolve()
  await Promise.all(waiting)
  await lanes.idle()
})

test('does not block a group because of another one whose work does not end', async () => {
  const held = Promise.withResolvers<void>()
  const done: string[] = []
  const groups = openLaneGroups<string>(() => ({
    concurrency: 2,
    buffer: 10,
    async work(piece) {
      if (piece.startsWith('stuck')) await held.promise
      done.push(piece)
    },
  }))
  for (let n = 0; n < 5; n += 1) await groups.add('away', `k${n}`, `stuck${n}`)
  for (let n = 0; n < 5; n += 1) await groups.add('near', `k${n}`, `fine${n}`)
  await turn()
  expect(done).toEqual(['fine0', 'fine1', 'fine2', 'fine3', 'fine4'])
  expect([groups.waiting, groups.waitingIn('away'), groups.waitingIn('near'), groups.running]).toEqual([3, 3, 0, 2])
  held.resolve()
  await groups.idle()
  expect(done).toHaveLength(10)
})

test('a piece aside lets other lanes be processed, keeps its own lane, and counts as queued', async () => {
  const held = Promise.withResolvers<void>()
  const done: string[] = []
  const lanes = openLanes<string>({
    concurrency: 1,
    buffer: 2,
    async work(piece, aside) {
      if (piece === 'first') await aside(() => held.promise)
      done.push(piece)
    },
  })
  await lanes.add('a', 'first')
  const added = [lanes.add('a', 'second'), lanes.add('b', 'other')]
  let isFull = true
  void Promise.all(added).then(() => (isFull = false))
  await turn()
  expect(isFull).toBe(true)
  expect(done).toEqual(['other'])
  held.resolve()
  await Promise.all(added)
  await lanes.idle()
  expect(done).toEqual(['other', 'first', 'second'])
})
