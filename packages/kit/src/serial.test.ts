import { expect, test } from 'vitest'
import { openSerial } from './serial.ts'

test('runs work of one key in order, also after a failure, and work of other keys meanwhile', async () => {
  const serial = openSerial()
  const first = Promise.withResolvers<void>()
  const order: string[] = []
  const failed = serial.run('a', async () => {
    await first.promise
    order.push('a1')
    throw new Error('refused')
  })
  const second = serial.run('a', async () => order.push('a2'))
  await serial.run('b', async () => order.push('b1'))
  expect([order, serial.has('a'), serial.has('b')]).toEqual([['b1'], true, false])
  first.resolve()
  await expect(failed).rejects.toThrow('refused')
  expect(await second).toBe(3)
  expect(order).toEqual(['b1', 'a1', 'a2'])
})

test('is idle when nothing runs or waits, including work that was added meanwhile', async () => {
  const serial = openSerial()
  await serial.idle()
  const order: string[] = []
  void serial.run('a', async () => {
    order.push('a1')
    void serial.run('a', async () => order.push('a2'))
  })
  await serial.idle()
  expect([order, serial.has('a')]).toEqual([['a1', 'a2'], false])
})
