/** Golden signatures, computed by Python from the lines that the documentation of Azure lists for this version. */
import { expect, test } from 'vitest'
import { blobQuery, type BlobAccess } from './shared-access.ts'

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const ACCESS: BlobAccess = {
  account: 'acme',
  container: 'ci',
  blob: 'project/5/a b',
  permissions: 'r',
  expiresAt: Date.UTC(2026, 0, 31, 12, 0, 0, 500),
  protocol: 'https',
  key: KEY,
}
const granted = (access: BlobAccess): object => Object.fromEntries(new URLSearchParams(blobQuery(access)))

test('a blob is read with a signature by the key of the account (G044)', () => {
  expect(granted(ACCESS)).toEqual({
    sv: '2020-12-06',
    spr: 'https',
    se: '2026-01-31T12:00:00Z',
    sr: 'b',
    sp: 'r',
    sig: 'd4EFuOgtGHrofrcNTrPXmsxEQiPIC9hirW6Xxj55Za8=',
  })
})

test('a blob is written with a signature by the key of an identity (G044)', () => {
  const key = {
    objectId: 'oid',
    tenantId: 'tid',
    start: '2026-01-31T11:00:00Z',
    expiry: '2026-01-31T12:00:00Z',
    service: 'b',
    version: '2020-12-06',
    value: KEY,
  }
  expect(granted({ ...ACCESS, permissions: 'cw', key })).toEqual({
    sv: '2020-12-06',
    spr: 'https',
    se: '2026-01-31T12:00:00Z',
    sr: 'b',
    sp: 'cw',
    skoid: 'oid',
    sktid: 'tid',
    skt: '2026-01-31T11:00:00Z',
    ske: '2026-01-31T12:00:00Z',
    sks: 'b',
    skv: '2020-12-06',
    sig: '/TFgAlPVLeOYP5Cr0LejmLDvB5sQCO7nsxq9jEFKEts=',
  })
})
