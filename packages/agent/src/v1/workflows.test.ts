import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLaneGroups, openLanes } from './workflows.ts'

test('R228: whatever comes in whatever order, each key is in one hand, its pieces keep their order, and no more than so many are in work', async () => {
  const pieces = fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), turns: fc.nat(4) }), { maxLength: 40 })
  const limits = fc.record({ concurrency: fc.integer({ min: 1, max: 4 }), buffer: fc.integer({ min: 1, max: 6 }) })
  await fc.assert(
    fc.asyncProperty(pieces, limits, async (list, { concurrency, buffer }) => {
      const inHand = new Set<string>()
      const done: number[] = []
      let [now, most] = [0, 0]
      const lanes = openLanes<number>({
        concurrency,
        buffer,
        async work(n) {
          const { key = '', turns = 0 } = list[n] ?? {}
          expect(inHand.has(key)).toBe(false)
          inHand.add(key)
          now += 1
          most = Math.max(most, now)
          for (let i = 0; i < turns; i += 1) await turn()
          now -= 1
          inHand.delete(key)
          done.push(n)
        },
      })
      for (const [n, { key }] of list.entries()) {
        await lanes.add(key, n)
        expect(lanes.waiting).toBeLessThan(buffer)
      }
      await lanes.idle()
      expect(most).toBeLessThanOrEqual(concurrency)
      expect(done.toSorted((a, b) => a - b)).toEqual(list.map((_, n) => n))
      for (const key of 'abcde') {
        const ofKey = done.filter((n) => list[n]?.key === key)
        expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b))
      }
    }),
    { numRuns: 200 },
  )
})

test('two that wait for room are both woken', async () => {
  const held = Promise.withResolvers<void>()
  const lanes = openLanes<number>({ concurrency: 1, buffer: 1, work: () => held.promise })
  await lanes.add('a', 1)
  const waiting = [lanes.add('b', 2), lanes.add('c', 3)]
  held.resolve()
  await Promise.all(waiting)
  await lanes.idle()
})

test('a group whose work does not end holds up no other group', async () => {
  const held = Promise.withResolvers<void>()
  const done: string[] = []
  const groups = openLaneGroups<string>({
    concurrency: 2,
    buffer: 10,
    async work(piece) {
      if (piece.startsWith('stuck')) await held.promise
      done.push(piece)
    },
  })
  for (let n = 0; n < 5; n += 1) await groups.add('away', `k${n}`, `stuck${n}`)
  for (let n = 0; n < 5; n += 1) await groups.add('near', `k${n}`, `fine${n}`)
  await turn()
  expect(done).toEqual(['fine0', 'fine1', 'fine2', 'fine3', 'fine4'])
  expect([groups.waiting, groups.running]).toEqual([3, 2])
  held.resolve()
  await groups.idle()
  expect(done).toHaveLength(10)
})
