/** Google Cloud Storage as the holder of a signed address sees it. It checks the V4 signature of each request by the rules that Google publishes. */
import { createHash, createVerify, type KeyObject } from 'node:crypto'
import { startFakeStore, type FakeStore, type StoreRequest } from './fake-store.ts'

export interface FakeGcsOptions {
  readonly host: string
  /** Service account that may sign, and its public key. */
  readonly email: string
  readonly publicKey: KeyObject
}

/** Starts the store. It has every bucket. */
export function startFakeGcs({ host, ...account }: FakeGcsOptions): Promise<FakeStore> {
  return startFakeStore({ host, created: 200, refusal: (request) => refusalOf(request, account) })
}

function refusalOf(
  { method, target, headers }: StoreRequest,
  { email, publicKey }: Omit<FakeGcsOptions, 'host'>,
): string | undefined {
  const [path = '', search = ''] = target.split('?')
  const query = new URLSearchParams(search)
  const given = (name: string): string => query.get(`X-Goog-${name}`) ?? ''
  const [date, names] = [given('Date'), given('SignedHeaders').split(';')]
  const scope = `${date.slice(0, 8)}/auto/storage/goog4_request`
  if (given('Algorithm') !== 'GOOG4-RSA-SHA256') return 'wrong algorithm'
  if (given('Credential') !== `${email}/${scope}`) return 'wrong account or scope'
  const signedAt = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  const age = (Date.now() - signedAt) / 1_000
  if (!(age > -60 && age < Number(given('Expires')) && Number(given('Expires')) <= 604_800)) return 'expired'
  if (!names.includes('host')) return 'the host is not signed'
  const unsigned = Object.keys(headers).find((name) => name.startsWith('x-goog-') && !names.includes(name))
  if (unsigned !== undefined) return `${unsigned} is not signed`
  const signed = search.split('&').filter((pair) => !pair.startsWith('X-Goog-Signature='))
  const canonical = [
    method,
    path,
    signed.toSorted().join('&'),
    ...names.map((name) => `${name}:${String(headers[name])}`),
    '',
    names.join(';'),
    'UNSIGNED-PAYLOAD',
  ]
  const hash = createHash('sha256').update(canonical.join('\n')).digest('hex')
  const verifier = createVerify('RSA-SHA256').update(['GOOG4-RSA-SHA256', date, scope, hash].join('\n'))
  return verifier.verify(publicKey, given('Signature'), 'hex') ? undefined : 'wrong signature'
}
