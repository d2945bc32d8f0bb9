/** Caches in Azure Blob Storage. */
import { azureToken, callCloud, readXmlError, textOf } from '@windlass/cloud'
import { fault } from '@windlass/kit'
import type { CacheSection } from '../config/sections/cache-section.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import { MAX_ADDRESS_S, objectPath, type CacheStore, type StoreOptions } from './cache-store.ts'
import { azureTime, blobQuery, SAS_VERSION, type DelegationKey } from './shared-access.ts'

type Azure = NonNullable<CacheSection['azure']>

const PERMISSIONS = { GET: 'r', PUT: 'cw' } as const

/**
 * Opens the store of `[runners.cache.azure]`. Without a key of the account, addresses are signed with a key that the identity of the manager gets for the time of the
 * job. Throws `ConfigurationError` without account or container, and the faults of `azureToken`.
 */
export async function openAzureStore(azure: Azure, options: StoreOptions): Promise<CacheStore> {
  const { AccountName: account = '', AccountKey: accountKey = '', ContainerName: container = '' } = azure
  if (account === '') throw new ConfigurationError('[runners.cache.azure] has no AccountName.')
  if (container === '') throw new ConfigurationError('[runners.cache.azure] has no ContainerName.')
  const base = accountAddress(azure, account)
  const expiresAt = options.clock.now() + Math.min(options.seconds, MAX_ADDRESS_S) * 1_000
  const key = accountKey === '' ? await delegationKey(base, expiresAt, options) : accountKey
  const protocol = base.startsWith('http:') ? 'https,http' : 'https'
  return {
    uploadHeaders: { 'x-ms-blob-type': 'BlockBlob' },
    sign(method, blob) {
      const query = blobQuery({ account, container, blob, permissions: PERMISSIONS[method], expiresAt, protocol, key })
      return Promise.resolve(`${base}/${container}/${objectPath(blob)}?${query}`)
    },
  }
}

/** The host of the account. A StorageDomain with a scheme is the address of an emulator, which has accounts in the path. */
function accountAddress({ StorageDomain: domain = '' }: Azure, account: string): string {
  if (/^https?:\/\//.test(domain)) return `${domain.replace(/\/+$/, '')}/${account}`
  return `https://${account}.${domain === '' ? 'blob.core.windows.net' : domain}`
}

/** Time by which the clock of this machine may be ahead of that of Azure. Milliseconds. */
const SKEW_MS = 5 * 60_000

/** Requests a key by which the identity of the manager delegates access, "Get User Delegation Key" of Azure. */
async function delegationKey(base: string, expiresAt: number, { env, clock, signal }: StoreOptions): Promise<DelegationKey> {
  const token = await azureToken({ env, clock }, 'https://storage.azure.com/', signal)
  const [start, expiry] = [azureTime(clock.now() - SKEW_MS), azureTime(expiresAt)]
  const request = {
    method: 'POST',
    url: `${base}/?restype=service&comp=userdelegationkey`,
    headers: { authorization: `Bearer ${token}`, 'x-ms-version': SAS_VERSION, 'content-type': 'application/xml' },
    body: `<?xml version="1.0" encoding="utf-8"?><KeyInfo><Start>${start}</Start><Expiry>${expiry}</Expiry></KeyInfo>`,
  }
  const call = { provider: 'Azure Blob Storage', action: 'Get User Delegation Key', request, readError: readXmlError }
  const xml = await callCloud(clock, call, signal)
  const field = (name: string): string => {
    const value = textOf(xml, name)
    if (value !== undefined) return value
    throw fault('storage-refused', { message: `Azure Blob Storage: the answer with the key has no ${name}.` })
  }
  return {
    objectId: field('SignedOid'),
    tenantId: field('SignedTid'),
    start: field('SignedStart'),
    expiry: field('SignedExpiry'),
    service: field('SignedService'),
    version: field('SignedVersion'),
    value: field('Value'),
  }
}
