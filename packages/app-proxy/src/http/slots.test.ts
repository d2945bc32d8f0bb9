import { expect, test } from 'vitest'
import { openShares, openSlots } from './slots.ts'

test('at most the limit is in progress, those that wait come in their order, and more are refused', async () => {
  const slots = openSlots({ limit: 1, waiting: 2, of: 'commits' })
  const order: string[] = []
  const leaveFirst = await slots.enter()
  const enter = async (name: string): Promise<() => void> => {
    const leave = await slots.enter()
    order.push(name)
    return leave
  }
  const [second, third] = [enter('second'), enter('third')]
  await expect(slots.enter()).rejects.toMatchObject({ code: 'rate-limited', message: '3 commits are in progress.' })
  expect(order).toEqual([])
  leaveFirst()
  leaveFirst()
  const leaveSecond = await second
  expect(order).toEqual(['second'])
  leaveSecond()
  const leaveThird = await third
  leaveThird()
  expect(order).toEqual(['second', 'third'])
  ;(await slots.enter())()
})

test('each owner of calls has its own limit', () => {
  const shares = openShares({ limit: 2, of: 'reports' })
  const leave = shares.enter('ann')
  shares.enter('ann')
  expect(() => shares.enter('ann')).toThrow('2 of your reports are in progress.')
  shares.enter('ben')
  leave()
  leave()
  shares.enter('ann')
  expect(() => shares.enter('ann')).toThrow('2 of your reports are in progress.')
})
