/** What the manager knows of a store of caches: how to sign addresses of its objects. It moves no bytes itself. */
import type { Clock } from '@windlass/kit'

export interface CacheStore {
  /** Headers that the upload must have. */
  readonly uploadHeaders: Readonly<Record<string, string>>
  /** Returns the address of an object. Its holder can make this request, and no other one. Throws `storage-refused` and `storage-unreachable`. */
  readonly sign: (method: 'GET' | 'PUT', object: string) => Promise<string>
}

export interface StoreOptions {
  readonly projectId: number
  /** Time for which the addresses are valid: that of the job. Seconds. */
  readonly seconds: number
  /** Environment of the manager, for credentials of clouds. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Longest life of an address in S3 and Google Cloud Storage, and of a key of Azure that signs them. Seconds. */
export const MAX_ADDRESS_S = 7 * 86_400

/** Returns text in the percent-encoding of RFC 3986, which signatures need: also `!'()*` are encoded. */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Returns the name of an object as a path of a URL. */
export function objectPath(object: string): string {
  return object.split('/').map(percentEncoded).join('/')
}
