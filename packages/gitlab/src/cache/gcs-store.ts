/** Caches in Google Cloud Storage. */
import { googleSigner, keySigner, type GoogleSigner } from '@windlass/cloud'
import type { CacheSection } from '../config/sections/cache-section.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import { objectPath, type CacheStore, type StoreOptions } from './cache-store.ts'
import { presignGoogle } from './google-signature.ts'

type Gcs = NonNullable<CacheSection['gcs']>

/** Opens the store of `[runners.cache.gcs]`. Throws `ConfigurationError` without a bucket or with half a key, and the faults of `googleSigner`. */
export async function openGcsStore(gcs: Gcs, options: StoreOptions): Promise<CacheStore> {
  const { seconds, env, clock, signal } = options
  const { BucketName: bucket = '', UniverseDomain: domain = '' } = gcs
  if (bucket === '') throw new ConfigurationError('[runners.cache.gcs] has no BucketName.')
  const universe = domain === '' ? 'googleapis.com' : domain
  const signer = await signerOf(gcs, universe, options)
  const base = emulatorOf(env) ?? `https://storage.${universe}`
  return {
    uploadHeaders: {},
    sign: (method, object) =>
      presignGoogle({ method, url: `${base}/${bucket}/${objectPath(object)}`, seconds, now: clock.now(), signer, signal }),
  }
}

/** The account of `CredentialsFile`, else that of `AccessID` and `PrivateKey`, else that of the environment of the manager. */
async function signerOf(gcs: Gcs, universe: string, { env, clock, signal }: StoreOptions): Promise<GoogleSigner> {
  const { CredentialsFile: file = '', AccessID: id = '', PrivateKey: key = '' } = gcs
  const options = { env, clock, universe }
  if (file !== '') return googleSigner({ ...options, keyFile: file, keyFileSource: 'CredentialsFile' }, signal)
  if (id === '' && key === '') return googleSigner(options, signal)
  if (id === '' || key === '') throw new ConfigurationError('[runners.cache.gcs] needs AccessID and PrivateKey together.')
  return keySigner(id, key)
}

/** Returns the address of an emulator in `STORAGE_EMULATOR_HOST`, which the clients of Google read: a URL, or a host with a port. */
function emulatorOf(env: StoreOptions['env']): string | undefined {
  const given = env['STORAGE_EMULATOR_HOST']?.replace(/\/+$/, '')
  if (given === undefined || given === '') return undefined
  return /^https?:\/\//.test(given) ? given : `http://${given}`
}
