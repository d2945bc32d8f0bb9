/**
 * Shared access signatures of Azure for one blob. Rules of "Create a service SAS" and "Create a user delegation SAS" in its documentation, of the version
 * `SAS_VERSION`.
 */
import { createHmac } from 'node:crypto'

/** Version of the Blob service whose rules the signature follows. A blob of up to 5,000 MiB is uploaded by one request. */
export const SAS_VERSION = '2020-12-06'

/** A key that an identity of Microsoft Entra ID has requested. Texts are those of the answer, because the signature has them. */
export interface DelegationKey {
  readonly objectId: string
  readonly tenantId: string
  readonly start: string
  readonly expiry: string
  readonly service: string
  readonly version: string
  /** Base64. */
  readonly value: string
}

export interface BlobAccess {
  readonly account: string
  readonly container: string
  readonly blob: string
  /** Letters of Azure in its order: `r` reads, `cw` creates and overwrites. */
  readonly permissions: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
  readonly protocol: 'https' | 'https,http'
  /** Key of the account in Base64, or one of an identity. */
  readonly key: string | DelegationKey
}

/** Returns a time as Azure writes it, without fractions of a second. */
export function azureTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Returns the query that grants the access. */
export function blobQuery({ account, container, blob, permissions, expiresAt, protocol, key }: BlobAccess): string {
  const expiry = azureTime(expiresAt)
  const resource = `/blob/${account}/${container}/${blob}`
  const isDelegated = typeof key !== 'string'
  const lines = [
    permissions,
    // It is valid at once, so the clock of this machine may be ahead.
    '',
    expiry,
    resource,
    ...(isDelegated ? delegationLines(key) : ['']),
    // Any network.
    '',
    protocol,
    SAS_VERSION,
    'b',
    // Snapshot, encryption scope, and five headers of the answer.
    ...Array.from({ length: 7 }, () => ''),
  ]
  const secret = Buffer.from(isDelegated ? key.value : key, 'base64')
  const signature = createHmac('sha256', secret).update(lines.join('\n')).digest('base64')
  return new URLSearchParams({
    sv: SAS_VERSION,
    spr: protocol,
    se: expiry,
    sr: 'b',
    sp: permissions,
    ...(isDelegated && delegationFields(key)),
    sig: signature,
  }).toString()
}

function delegationLines({ objectId, tenantId, start, expiry, service, version }: DelegationKey): string[] {
  // The three empty lines are two users for whom the key could be limited, and an ID for logs.
  return [objectId, tenantId, start, expiry, service, version, '', '', '']
}

function delegationFields({ objectId, tenantId, start, expiry, service, version }: DelegationKey): Record<string, string> {
  return { skoid: objectId, sktid: tenantId, skt: start, ske: expiry, sks: service, skv: version }
}
