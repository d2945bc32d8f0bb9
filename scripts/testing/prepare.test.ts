import { expect, test } from 'vitest'
import { inOrder, openQueue, readEnvironment } from './prepare.ts'

test('reads environment lines and expands their variables', () => {
  const { PATH, KUBECONFIG } = readEnvironment('export KUBECONFIG=/a/admin.kubeconfig PATH=/b/bin:$PATH\n')
  expect(KUBECONFIG).toBe('/a/admin.kubeconfig')
  expect(PATH).toBe(`/b/bin:${process.env['PATH']}`)
})

test('orders each part after its dependencies, once', () => {
  const order = inOrder(['cluster', 'image:tools'])
  expect(order.indexOf('docker')).toBeLessThan(order.indexOf('image:debian'))
  expect(order.indexOf('image:debian')).toBeLessThan(order.indexOf('image:tools'))
  expect(order.at(-1)).toBe('cluster')
  expect(new Set(order).size).toBe(order.length)
})

test('a queue runs one work at a time, and one that waited for another keeps its place', async () => {
  const queue = openQueue()
  const order: string[] = []
  const add = async (rank: number, name: string): Promise<void> =>
    queue(rank, async () => {
      order.push(`${name} begins`)
      await Promise.resolve()
      order.push(`${name} ends`)
    })
  const first = add(1, 'first')
  await Promise.all([first, add(3, 'third'), first.then(() => add(2, 'second'))])
  expect(order).toEqual(['first begins', 'first ends', 'second begins', 'second ends', 'third begins', 'third ends'])
})

test('a queue goes on after a work that fails', async () => {
  const queue = openQueue()
  const failing = queue(1, () => Promise.reject(new Error('no compiler')))
  const next = queue(2, () => Promise.resolve('compiled'))
  await expect(failing).rejects.toThrow('no compiler')
  expect(await next).toBe('compiled')
})
