import { fault, manualClock } from '@windlass/kit'
import type { KubeObject } from '@windlass/kube'
import { expect, test } from 'vitest'
import { LABELS } from '../records/job-record.ts'
import { otherManagers } from './other-managers.ts'

const { signal } = new AbortController()
const OWN = { namespace: 'ci', instance: 'r_own.1' }

function lease(manager: string, resourceVersion: string): KubeObject {
  const metadata = { name: `gitlab-runner-${manager}`, resourceVersion, labels: { [LABELS.manager]: manager } }
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }
}

test('a manager is silent when its Lease has not changed for 30 s since it was first seen', async () => {
  const clock = manualClock()
  let leases = [lease('r_a.1', '1'), lease('r_b.1', '1'), lease('r_own.1', '1')]
  const find = otherManagers({ ...OWN, kube: { list: async () => leases }, clock })
  expect((await find(signal)).silent).toEqual([])
  clock.advance(29_000)
  leases = [lease('r_a.1', '1'), lease('r_b.1', '2'), lease('r_own.1', '1')]
  expect((await find(signal)).silent).toEqual([])
  clock.advance(1_000)
  expect(await find(signal)).toEqual({ silent: ['r_a.1'], twins: [] })
})

test('a Lease that was removed in between counts from its return', async () => {
  const clock = manualClock()
  let leases = [lease('r_a.1', '1')]
  const find = otherManagers({ ...OWN, kube: { list: async () => leases }, clock })
  await find(signal)
  leases = []
  clock.advance(20_000)
  await find(signal)
  leases = [lease('r_a.1', '1')]
  clock.advance(20_000)
  expect((await find(signal)).silent).toEqual([])
})

test('a process with the same system ID is a twin while it renews its Lease, and one that died is not (G105)', async () => {
  const clock = manualClock()
  let leases = [lease('r_own.1', '1'), lease('r_own.2', '1'), lease('r_other.1', '1')]
  const find = otherManagers({ ...OWN, kube: { list: async () => leases }, clock })
  expect((await find(signal)).twins).toEqual([])
  clock.advance(10_000)
  leases = [lease('r_own.1', '2'), lease('r_own.2', '2'), lease('r_other.1', '2')]
  expect(await find(signal)).toEqual({ silent: [], twins: ['r_own.2'] })
  clock.advance(30_000)
  expect(await find(signal)).toEqual({ silent: ['r_own.2', 'r_other.1'], twins: [] })
})

test('an account that may not list Leases finds none, and other faults are passed on', async () => {
  const failing = (code: 'cluster-refused' | 'cluster-unreachable'): (() => Promise<never>) => {
    return () => Promise.reject(fault(code, { message: code }))
  }
  const options = { ...OWN, clock: manualClock() }
  expect(await otherManagers({ ...options, kube: { list: failing('cluster-refused') } })(signal)).toEqual({
    silent: [],
    twins: [],
  })
  await expect(otherManagers({ ...options, kube: { list: failing('cluster-unreachable') } })(signal)).rejects.toThrow(
    'cluster-unreachable',
  )
})
