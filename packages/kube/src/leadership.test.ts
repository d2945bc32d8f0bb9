/** Waiting for a lease and the terms of its holder, against a small API server. */
import { isAbort, manualClock, silentLog, systemClock, type Logger } from '@windlass/kit'
import { expect, test } from 'vitest'
import { recordPauses } from '../../../e2e/support/clocks.ts'
import { openFakeKube } from '../../agent/test/support/fake-kube.ts'
import { openLeadership } from './leadership.ts'

const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'puller', namespace: 'runner' } }
const ref = { kind: 'Lease', ...LEASE.metadata } as const
const common = { ...LEASE.metadata, holder: 'a', clock: systemClock, log: silentLog, leaseMs: 100 }

test('waits for the duration that the other holder has set, not for its own', async () => {
  await using api = await openFakeKube()
  const kube = api.kube()
  await kube.create({ ...LEASE, spec: { holderIdentity: 'b', leaseDurationSeconds: 1 } })
  const stop = new AbortController()
  const start = systemClock.monotonic()
  await openLeadership({ ...common, kube }).lead(async () => stop.abort(), stop.signal)
  expect(systemClock.monotonic() - start).toBeGreaterThan(1_000)
})

test('says once that another process holds the lease, and not while the API server cannot be read', async () => {
  await using api = await openFakeKube()
  const kube = api.kube()
  await kube.create({ ...LEASE, spec: { holderIdentity: 'b', leaseDurationSeconds: 3_600 } })
  api.intercept = () => (api.calls.length <= 4 ? { status: 503 } : undefined)
  const said: string[] = []
  const note = (_: unknown, text: string): void => void said.push(text)
  const log = { ...silentLog, info: note, warn: note } as unknown as Logger
  const stop = new AbortController()
  const leading = openLeadership({ ...common, kube, log }).lead(() => Promise.reject(new Error('led')), stop.signal)
  await expect.poll(() => api.calls.length).toBeGreaterThan(10)
  stop.abort()
  await leading
  expect(said[0]).toBe('cannot read or renew the lease')
  expect(said.filter((text) => text.includes('another process'))).toEqual(['another process holds the lease; waiting'])
  expect(said.at(-1)).toBe('another process holds the lease; waiting')
})

test('rejects with the refusal of the API server, and with the error of the work after releasing the lease', async () => {
  await using api = await openFakeKube()
  const kube = api.kube()
  const lease = { kube, namespace: ref.namespace, name: ref.name, clock: systemClock, log: silentLog, holder: 'a' }
  const { signal } = new AbortController()
  const broken = openLeadership(lease).lead(() => Promise.reject(new Error('a bug')), signal)
  await expect(broken).rejects.toThrow('a bug')
  expect((await kube.find(ref))?.['spec']).toMatchObject({ holderIdentity: '' })
  api.intercept = () => ({ status: 403, reason: 'Forbidden' })
  const refused = openLeadership({ ...lease, leaseMs: 50 }).lead(async () => undefined, signal)
  await expect(refused).rejects.toMatchObject({ code: 'cluster-refused' })
})

test('a single refusal is not the end: the process waits for the lease as before', async () => {
  await using api = await openFakeKube()
  const kube = api.kube()
  await kube.create({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: ref.name, namespace: ref.namespace },
    spec: { holderIdentity: 'b', leaseDurationSeconds: 1 },
  })
  const lease = { kube, namespace: ref.namespace, name: ref.name, clock: systemClock, log: silentLog, holder: 'a', leaseMs: 50 }
  let reads = 0
  // Two reads are refused before the first success, and six after it.
  api.intercept = ({ method }) => {
    if (method !== 'GET') return undefined
    reads += 1
    return reads < 3 || (reads > 3 && reads < 10) ? { status: 403, reason: 'Forbidden' } : undefined
  }
  const stop = new AbortController()
  let terms = 0
  const leading = openLeadership(lease).lead(async () => {
    terms += 1
    api.intercept = () => undefined
    stop.abort()
  }, stop.signal)
  await leading
  expect(terms).toBe(1)
})

test('resolves without a term if the signal is aborted while another process holds the lease', async () => {
  await using api = await openFakeKube()
  const kube = api.kube()
  await kube.create({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: ref.name, namespace: ref.namespace },
    spec: { holderIdentity: 'b' },
  })
  const lease = { kube, namespace: ref.namespace, name: ref.name, clock: systemClock, log: silentLog, holder: 'a' }
  const leading = openLeadership(lease).lead(() => Promise.reject(new Error('led')), AbortSignal.timeout(100))
  await expect(leading.catch((error: unknown) => isAbort(error))).resolves.toBeUndefined()
})

test.each(['GET', 'PATCH'])('ends a term after two thirds of the lease while a %s of the renewal has no answer', async (hung) => {
  await using api = await openFakeKube()
  const clock = recordPauses(manualClock())
  const lease = {
    kube: api.kube(),
    namespace: ref.namespace,
    name: ref.name,
    clock,
    log: silentLog,
    holder: 'a',
    leaseMs: 15_000,
  }
  const stop = new AbortController()
  const begun = Promise.withResolvers<AbortSignal>()
  const leading = openLeadership(lease).lead(async (term) => {
    begun.resolve(term)
    await systemClock.sleep(20_000, AbortSignal.any([term, stop.signal])).catch(() => undefined)
  }, stop.signal)
  const term = await begun.promise
  const calls = { hung: 0 }
  const answered = Promise.withResolvers<undefined>()
  api.intercept = ({ method }) => {
    if (method !== hung) return undefined
    calls.hung += 1
    return answered.promise
  }
  clock.advance(3_000)
  while (calls.hung === 0) await systemClock.sleep(5)
  clock.advance(6_900)
  await systemClock.sleep(100)
  expect(term.aborted).toBe(false)
  clock.advance(200)
  await expect.poll(() => term.aborted).toBe(true)
  answered.resolve(undefined)
  stop.abort()
  await leading
})

test('counts a term from before the call that acquired or renewed the lease', async () => {
  await using api = await openFakeKube()
  const clock = manualClock()
  const lease = {
    kube: api.kube(),
    namespace: ref.namespace,
    name: ref.name,
    clock,
    log: silentLog,
    holder: 'a',
    leaseMs: 15_000,
  }
  const stop = new AbortController()
  const begun = Promise.withResolvers<AbortSignal>()
  const answered = Promise.withResolvers<undefined>()
  let calls = 0
  api.intercept = ({ method }) => {
    calls += 1
    return method === 'POST' ? answered.promise : undefined
  }
  const leading = openLeadership(lease).lead(async (term) => {
    begun.resolve(term)
    await systemClock.sleep(20_000, AbortSignal.any([term, stop.signal])).catch(() => undefined)
  }, stop.signal)
  while (calls < 2) await systemClock.sleep(5)
  clock.advance(8_000)
  answered.resolve(undefined)
  const term = await begun.promise
  const hung = Promise.withResolvers<undefined>()
  api.intercept = () => hung.promise
  clock.advance(2_100)
  await expect.poll(() => term.aborted).toBe(true)
  hung.resolve(undefined)
  stop.abort()
  await leading
})

test('a renewal does not create a lease that the work of the term has removed', async () => {
  await using api = await openFakeKube()
  const kube = api.kube()
  const clock = manualClock()
  const stop = new AbortController()
  await openLeadership({ ...common, kube, clock, leaseMs: 15_000 }).lead(async (term) => {
    await kube.delete(ref)
    clock.advance(3_000)
    await expect.poll(() => term.aborted).toBe(true)
    stop.abort()
  }, stop.signal)
  expect(await kube.find(ref)).toBeUndefined()
})
