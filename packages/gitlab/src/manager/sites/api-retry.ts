/** Retries of calls to the API of a cluster: `retry_limit`, `retry_limits` and `retry_backoff_max` of the configuration. */
import { isFault, retry, type Clock } from '@windlass/kit'
import type { KubernetesSection } from '../../config/sections/kubernetes-section.ts'

export interface ApiRetryOptions {
  readonly section: Pick<KubernetesSection, 'retry_limit' | 'retry_limits' | 'retry_backoff_max'>
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Makes a call until it succeeds. Throws the last error. */
export type ApiRetry = <T>(call: () => Promise<T>) => Promise<T>

/** Tries of a call to an API server that does not answer, without `retry_limit`. They take about two minutes. */
const TRIES = 30
const BASE_MS = 200
const MAX_MS = 5_000
/** Smallest `retry_backoff_max`, as in the original. Milliseconds. */
const LEAST_BACKOFF_MS = 500

/** Returns the retries of a runner. An error with a text of `retry_limits` is tried that often, whatever it is. */
export function apiRetry({ section, clock, signal }: ApiRetryOptions): ApiRetry {
  const { retry_backoff_max: backoff = 0 } = section
  const maxMs = backoff > 0 ? Math.max(backoff, LEAST_BACKOFF_MS) : MAX_MS
  return (call) => {
    let tries = 0
    const retryIf = (error: unknown): boolean => {
      tries += 1
      return tries < triesFor(error, section)
    }
    return retry({ baseMs: BASE_MS, maxMs, clock, signal, retryIf }, call)
  }
}

function triesFor(error: unknown, { retry_limit: limit = 0, retry_limits: limits = {} }: ApiRetryOptions['section']): number {
  const message = error instanceof Error ? error.message : String(error)
  const listed = Object.entries(limits).find(([text]) => message.includes(text))
  if (listed !== undefined) return listed[1]
  if (!isFault(error, 'cluster-unreachable')) return 1
  return limit > 0 ? limit : TRIES
}
