import { expect, test } from 'vitest'
import { withExpiry } from './expiry.ts'

const NOW_S = 1_700_000_000
const labels = { 'windlass.io/build': 'b', 'windlass.io/expires': String(NOW_S - 100) }
const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', labels } }
const pod = (activeDeadlineSeconds?: number): typeof secret & { spec: object } => ({
  ...secret,
  kind: 'Pod',
  spec: { ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }) },
})
const expiryOf = (objects: Parameters<typeof withExpiry>[0]): (string | undefined)[] =>
  withExpiry(objects, NOW_S * 1000).map(({ metadata }) => metadata.labels?.['windlass.io/expires'])

test('all objects of an attempt expire at the deadline of its pods, counted from their creation', () => {
  expect(expiryOf([secret, pod(900), pod(3_600)])).toEqual(Array(3).fill(String(NOW_S + 3_600)))
})

test('objects without the label, and those without a pod that has a deadline, stay as they are', () => {
  const bare = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } }
  expect(expiryOf([bare, pod(900)])).toEqual([undefined, String(NOW_S + 900)])
  expect(withExpiry([secret, pod()], NOW_S * 1000)).toEqual([secret, pod()])
})
