/** The addresses of the caches of a job, which runs without them if there are none. */
import { isFault, type Clock, type Logger } from '@windlass/kit'
import { signedAddresses, type AddressOptions } from '../../cache/signed-addresses.ts'
import type { Job } from '../../job/payload.ts'
import type { CacheUrls } from '../../job/stage.ts'
import { timeoutOf } from '../../job/variables.ts'
import { ConfigurationError } from '../../pod/configuration-error.ts'
import { LATE_S } from '../../pod/render.ts'

export interface CacheAddresses {
  /** By keys of caches; undefined: they stay in the pod. */
  readonly urls?: ReadonlyMap<string, CacheUrls> | undefined
  /** Why there are none, for the log of the job. It has nothing of an answer: those of clouds name accounts and roles of the runner. */
  readonly problem?: string
}

export interface CacheAddressOptions {
  /** Environment of the manager, for credentials of clouds. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Longest time in which the services that give credentials for caches have to answer. Milliseconds. */
const ADDRESSES_MS = 60_000

/**
 * Returns the addresses of the caches of a job, if it has any and the configuration has a store. A job can do without its caches, so it runs without them if there are no
 * credentials for the store. Throws `ConfigurationError` for a store that is not described well enough.
 */
export async function cacheAddresses(
  { env, clock, log, signal }: CacheAddressOptions,
  { runner, job, keys }: Pick<AddressOptions, 'runner'> & { readonly job: Job; readonly keys: readonly string[] },
): Promise<CacheAddresses> {
  if (keys.length === 0) return {}
  const seconds = timeoutOf(job) + LATE_S
  const until = AbortSignal.any([signal, AbortSignal.timeout(ADDRESSES_MS)])
  try {
    const options = { runner, projectId: job.job_info.project_id, seconds, env, clock, signal: until }
    return { urls: await signedAddresses(keys, options) }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ConfigurationError) throw error
    log.warn({ err: error, job: job.id }, 'the job runs without its caches')
    return { problem: `${problemOf(error, until.aborted)}. The log of the runner has the reason` }
  }
}

function problemOf(error: unknown, isLate: boolean): string {
  if (isLate) return 'the service with the credentials took too long to answer'
  if (isFault(error, 'storage-refused')) return 'the runner got no credentials for the object store'
  if (isFault(error, 'storage-unreachable')) return 'the service with the credentials does not answer'
  return 'the addresses in the object store cannot be made'
}
