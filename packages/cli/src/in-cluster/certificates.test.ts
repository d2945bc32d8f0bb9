import { issueCertificates } from '@windlass/manifests'
import { expect, test } from 'vitest'
import { namesOf, reasonToRenew } from './certificates.ts'
import { changesBetween } from './runtimes.ts'

const DAY = 86_400_000
const now = Date.parse('2026-06-01T00:00:00Z')
const issued = (age: number): string => issueCertificates({ now: now - age * DAY, validMs: 90 * DAY, names: ['dind'] }).serverCert

test('R049: a certificate is renewed when a third of its time is left, when it has ended, and when a name is missing', () => {
  expect(reasonToRenew(issued(10), ['DNS:dind', 'IP:127.0.0.1'], now)).toBeUndefined()
  expect(reasonToRenew(issued(59), ['DNS:dind'], now)).toBeUndefined()
  expect(reasonToRenew(issued(61), ['DNS:dind'], now)).toContain('expires on')
  expect(reasonToRenew(issued(91), ['DNS:dind'], now)).toContain('has expired')
  expect(reasonToRenew(issued(1), ['DNS:other'], now)).toContain('DNS:other')
  expect(reasonToRenew('nonsense', ['DNS:dind'], now)).toContain('cannot be read')
})

test('a certificate carries the names of the daemons of its namespace, and those that were asked for', () => {
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

test('what differs between two specifications is told leaf by leaf', () => {
  const before = { spec: { size: '16Gi', labels: { a: '1' }, list: [1, 2] } }
  const after = { spec: { size: '30Gi', labels: { a: '1', b: '2' }, list: [1, 2] } }
  expect(changesBetween(before, after)).toEqual(['spec.labels.b: (nothing) -> "2"', 'spec.size: "16Gi" -> "30Gi"'])
  expect(changesBetween(after, structuredClone(after))).toEqual([])
})
