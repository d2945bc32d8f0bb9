import { expect, test } from 'vitest'
import { HashSet } from './hash-set.ts'

test('has exactly the hashes that were added, also after it grew', () => {
  const set = new HashSet()
  const hash = (index: number): [number, number] => [Math.imul(index, 0x9e3779b1) >>> 0, index % 7 === 0 ? 0 : index]
  for (let index = 0; index < 200_000; index += 1) set.add(...hash(index))
  for (let index = 0; index < 200_000; index += 1) set.add(...hash(index))
  expect(set.size).toBe(200_000)
  for (let index = 0; index < 200_000; index += 1) if (!set.has(...hash(index))) throw new Error(`lost ${index}`)
  for (let index = 200_001; index < 210_000; index += 1) if (index % 7 !== 0) expect(set.has(...hash(index))).toBe(false)
})

test('hashes that agree in their low bits take no longer than others', () => {
  const set = new HashSet()
  const { user } = process.cpuUsage()
  for (let index = 0; index < 200_000; index += 1) set.add(index * 16_384, 1)
  expect(set.size).toBe(200_000)
  expect(process.cpuUsage().user - user).toBeLessThan(2_000_000)
})
