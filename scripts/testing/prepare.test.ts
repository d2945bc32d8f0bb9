import { expect, test } from 'vitest'
import { inOrder, readEnvironment } from './prepare.ts'

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
