import { expect, test } from 'vitest'
import { inOrder } from './in-order.ts'

test('yields results in order with a limited number of concurrent calls', async () => {
  let running = 0
  let widest = 0
  const work = async (n: number): Promise<number> => {
    running += 1
    widest = Math.max(widest, running)
    await new Promise((resolve) => setTimeout(resolve, n % 2 === 0 ? 4 : 1))
    running -= 1
    return n
  }
  const items = Array.from({ length: 20 }, (_, n) => n)
  expect(await Array.fromAsync(inOrder(items, 4, work))).toEqual(items)
  expect(widest).toBe(4)
})

test('throws the first error in the order of the items', async () => {
  const work = async (n: number): Promise<number> => {
    if (n >= 2) throw new Error(`failed at ${n}`)
    return n
  }
  const seen: number[] = []
  const run = async (): Promise<void> => {
    for await (const n of inOrder([0, 1, 2, 3, 4], 4, work)) seen.push(n)
  }
  await expect(run()).rejects.toThrow('failed at 2')
  expect(seen).toEqual([0, 1])
})
