import { issueCertificates } from '@windlass/manifests'
import { expect, test } from 'vitest'
import { namesOf, reasonToRenew } from './certificates.ts'
import { changesBetween } from './runtimes.ts'

const DAY = 86_400_000
const now = Date.parse('2026-06-01T00:00:00Z')
const issued = (age: number): string => issueCertificates({ now: now - age * DAY, validMs: 90 * DAY, names: ['dind'] }).serverCert

const want = (...names: string[]): { names: string[]; days: number } => ({ names, days: 90 })

test('renews a certificate if a third of its validity is left, if it has expired, or if a name is missing (R049)', () => {
  expect(reasonToRenew(issued(10), want('DNS:dind', 'IP:127.0.0.1'), now)).toBeUndefined()
  expect(reasonToRenew(issued(59), want('DNS:dind'), now)).toBeUndefined()
  expect(reasonToRenew(issued(61), want('DNS:dind'), now)).toContain('expires on')
  expect(reasonToRenew(issued(91), want('DNS:dind'), now)).toContain('has expired')
  expect(reasonToRenew(issued(1), want('DNS:other'), now)).toContain('DNS:other')
  expect(reasonToRenew('nonsense', want('DNS:dind'), now)).toContain('cannot be read')
})

test('renews a certificate that is valid for longer than requested', () => {
  const wanted = { names: ['DNS:dind'], days: 30 }
  expect(reasonToRenew(issued(1), wanted, now)).toContain('valid for more than 30 days')
  expect(reasonToRenew(issued(1), { ...wanted, days: 90 }, now)).toBeUndefined()
})

test('a certificate has the names of the daemons of its namespace and the requested extra names', () => {
  const names = namesOf({ NAMES: 'DNS:extra.example.com, IP:10.0.0.1', CLUSTER_DOMAIN: 'corp.local' }, 'ci')
  expect(names).toEqual(
    expect.arrayContaining([
      'IP:127.0.0.1',
      'DNS:dind',
      'DNS:*.dind.ci',
      'DNS:*.dind.ci.svc',
      'DNS:*.dind.ci.svc.corp.local',
      'DNS:extra.example.com',
      'IP:10.0.0.1',
    ]),
  )
})

test('lists the differences of two specifications leaf by leaf', () => {
  const before = { spec: { size: '16Gi', labels: { a: '1' }, list: [1, 2] } }
  const after = { spec: { size: '30Gi', labels: { a: '1', b: '2' }, list: [1, 2] } }
  expect(changesBetween(before, after)).toEqual(['spec.labels.b: (none) -> "2"', 'spec.size: "16Gi" -> "30Gi"'])
  expect(changesBetween(after, structuredClone(after))).toEqual([])
})
