import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { rateLimit } from './limit.ts'

async function settle(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve()
}

test('lets a burst pass at once and the rest at the configured rate (R235)', async () => {
  const clock = manualClock()
  const limit = rateLimit({ qps: 10, burst: 3, clock })
  let passed = 0
  for (let i = 0; i < 8; i += 1) void limit.pass(false).then(() => (passed += 1))
  await settle()
  expect(passed).toBe(3)
  clock.advance(100)
  await settle()
  expect(passed).toBe(4)
  for (let i = 0; i < 4; i += 1) {
    clock.advance(100)
    await settle()
  }
  expect(passed).toBe(8)
})

test('lets deletes overtake other waiting calls', async () => {
  const clock = manualClock()
  const limit = rateLimit({ qps: 1, burst: 1, clock })
  await limit.pass(false)
  const order: string[] = []
  void limit.pass(false).then(() => order.push('create'))
  void limit.pass(true).then(() => order.push('delete'))
  clock.advance(1000)
  await settle()
  expect(order).toEqual(['delete'])
})
