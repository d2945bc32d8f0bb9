/** Signed addresses of the caches of a job in an object store, so that its pod needs no credentials. */
import { shortToken } from '../coordinator/tokens.ts'
import type { CacheSection } from '../config/sections/cache-section.ts'
import type { RunnerSection } from '../config/schema.ts'
import type { CacheUrls } from '../job/stage.ts'
import { openAzureStore } from './azure-store.ts'
import { objectName } from './cache-key.ts'
import type { CacheStore, StoreOptions } from './cache-store.ts'
import { openGcsStore } from './gcs-store.ts'
import { openS3Store } from './s3-store.ts'

export interface AddressOptions extends StoreOptions {
  readonly runner: Pick<RunnerSection, 'cache' | 'token'>
}

/**
 * Returns the addresses of caches by their keys; undefined if the configuration has no store. Throws `ConfigurationError` for a store that is not described
 * well enough, and faults of the services that give credentials.
 */
export async function signedAddresses(
  keys: readonly string[],
  options: AddressOptions,
): Promise<ReadonlyMap<string, CacheUrls> | undefined> {
  const { cache, token } = options.runner
  if (cache === undefined) return undefined
  const store = await openStore(cache, options)
  if (store === undefined) return undefined
  const runner = cache.Shared === true ? undefined : shortToken(token ?? '')
  const headers = Object.entries(store.uploadHeaders).map(([header, value]) => `${header}: ${value}`)
  const entries = keys.map(async (key) => {
    const name = objectName({ prefix: cache.Path ?? '', runner, projectId: options.projectId }, key)
    const [get, put] = await Promise.all([store.sign('GET', name), store.sign('PUT', name)])
    return [key, { get, put, headers }] as const
  })
  return new Map(await Promise.all(entries))
}

async function openStore({ Type: type, s3, gcs, azure }: CacheSection, options: StoreOptions): Promise<CacheStore | undefined> {
  if (type === 's3') return openS3Store(s3 ?? {}, options)
  if (type === 'gcs') return openGcsStore(gcs ?? {}, options)
  if (type === 'azure') return openAzureStore(azure ?? {}, options)
  return undefined
}
