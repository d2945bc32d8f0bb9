/**
 * Azure Blob Storage as the holder of a shared access signature sees it, and the login of Microsoft Entra ID. It checks the signature of each request by the rules
 * that Azure publishes. Accounts are in the path, as in its emulator.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { startFakeStore, type FakeStore, type StoreAnswer, type StoreRequest } from './fake-store.ts'

export interface FakeAzureOptions {
  readonly host: string
  readonly account: string
  /** Key of the account in Base64. */
  readonly key: string
  /** The token with which Kubernetes proves the identity of the manager. */
  readonly federatedToken: string
}

export interface FakeAzure extends FakeStore {
  /** Number of keys that the identity got. */
  readonly delegations: () => number
}

interface Delegation {
  readonly query: Readonly<Record<'skoid' | 'sktid' | 'skt' | 'ske' | 'sks' | 'skv', string>>
  readonly value: string
}

/** Starts the store. It has every container of the account. */
export async function startFakeAzure({ host, ...account }: FakeAzureOptions): Promise<FakeAzure> {
  const issued: Delegation[] = []
  const other = (request: StoreRequest): StoreAnswer | undefined => login(request, account) ?? delegate(request, account, issued)
  const store = await startFakeStore({ host, created: 201, other, refusal: (request) => refusalOf(request, account, issued) })
  return { ...store, delegations: () => issued.length }
}

type Account = Omit<FakeAzureOptions, 'host'>
const ACCESS = 'access-token-for-storage'

function login({ method, target, body }: StoreRequest, { federatedToken }: Account): StoreAnswer | undefined {
  if (method !== 'POST' || target !== '/tenant-1/oauth2/v2.0/token') return undefined
  const form = new URLSearchParams(body.toString())
  const isValid =
    form.get('grant_type') === 'client_credentials' &&
    form.get('client_id') === 'client-1' &&
    form.get('client_assertion_type') === 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' &&
    form.get('client_assertion') === federatedToken &&
    form.get('scope') === 'https://storage.azure.com/.default'
  return isValid
    ? { status: 200, body: JSON.stringify({ access_token: ACCESS, expires_in: 3_600 }) }
    : { status: 401, body: JSON.stringify({ error: 'invalid_client', error_description: 'the assertion is not valid' }) }
}

const WEEK_MS = 604_800_000

function delegate(
  { method, target, headers, body }: StoreRequest,
  { account }: Account,
  issued: Delegation[],
): StoreAnswer | undefined {
  if (method !== 'POST' || target !== `/${account}/?restype=service&comp=userdelegationkey`) return undefined
  const error = (code: string): StoreAnswer => ({
    status: 403,
    body: `<Error><Code>${code}</Code><Message>refused</Message></Error>`,
  })
  if (headers.authorization !== `Bearer ${ACCESS}`) return error('AuthenticationFailed')
  const wanted = (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(body.toString())?.[1] ?? ''
  const [skt, ske] = [wanted('Start'), wanted('Expiry')]
  const ends = Date.parse(ske)
  if (!(Date.parse(skt) < ends && ends > Date.now() && ends < Date.now() + WEEK_MS)) return error('InvalidXmlDocument')
  const query = { skoid: 'object-1', sktid: 'tenant-1', skt, ske, sks: 'b', skv: String(headers['x-ms-version']) }
  const value = randomBytes(32).toString('base64')
  issued.push({ query, value })
  const fields = {
    SignedOid: query.skoid,
    SignedTid: query.sktid,
    SignedStart: skt,
    SignedExpiry: ske,
    SignedService: 'b',
    SignedVersion: query.skv,
  }
  const xml = Object.entries({ ...fields, Value: value }).map(([name, text]) => `<${name}>${text}</${name}>`)
  return { status: 200, body: `<?xml version="1.0" encoding="utf-8"?><UserDelegationKey>${xml.join('')}</UserDelegationKey>` }
}

function refusalOf(
  { method, target, headers }: StoreRequest,
  account: Account,
  issued: readonly Delegation[],
): string | undefined {
  const [path = '', search = ''] = target.split('?')
  const query = new URLSearchParams(search)
  const given = (name: string): string => query.get(name) ?? ''
  if (!path.startsWith(`/${account.account}/`)) return 'wrong account'
  if (given('sv') !== '2020-12-06') return 'another version'
  if (given('sr') !== 'b') return 'not the signature of a blob'
  if (!given('spr').split(',').includes('http')) return 'only for https'
  if (!(Date.parse(given('se')) > Date.now())) return 'expired'
  if (!given('sp').includes(method === 'PUT' ? 'w' : 'r')) return `no permission for ${method}`
  if (method === 'PUT' && headers['x-ms-blob-type'] !== 'BlockBlob') return 'no type of blob'
  const delegation = query.has('skoid')
    ? issued.find((one) => Object.entries(one.query).every(([name, value]) => given(name) === value))
    : undefined
  if (query.has('skoid') && delegation === undefined) return 'unknown key of an identity'
  if (delegation !== undefined && !(Date.parse(delegation.query.ske) >= Date.parse(given('se'))))
    return 'lives longer than its key'
  const identity = delegation === undefined ? given('si') : [...Object.values(delegation.query), '', '', ''].join('\n')
  const text =
    `${given('sp')}\n${given('st')}\n${given('se')}\n/blob${decodeURIComponent(path)}\n${identity}\n${given('sip')}\n` +
    `${given('spr')}\n${given('sv')}\n${given('sr')}\n\n${given('ses')}\n${given('rscc')}\n${given('rscd')}\n${given('rsce')}\n${given('rscl')}\n${given('rsct')}`
  const secret = Buffer.from(delegation?.value ?? account.key, 'base64')
  return createHmac('sha256', secret).update(text).digest('base64') === given('sig') ? undefined : 'wrong signature'
}
