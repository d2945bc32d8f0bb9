/** The client of the runner API of a GitLab server, which this package calls the coordinator. */
import type { Clock, Logger, ProxySettings, TlsOptions } from '@windlass/kit'
import { isFault } from '@windlass/kit'
import { apiAddress } from './address.ts'
import { openCalls, type CallRecord } from './calls.ts'
import { openConnections } from './connections.ts'
import { runnerInfo, type RunnerInfo } from './info.ts'
import { jobRequest, type JobRequest, type JobRequestResult } from './job-request.ts'
import { jobCalls, type JobCalls } from './job-update.ts'
import { runnerCalls, type RunnerCalls } from './registration.ts'
import { shortToken } from './tokens.ts'

export interface CoordinatorOptions {
  /** URL of the GitLab server, with its path if it is not at the root. */
  readonly url: string
  /** Token of the runner, or a registration token for `register`. */
  readonly token: string
  /** A function is called for each request, and returns the same object until the files have changed. */
  readonly tls?: TlsOptions | (() => TlsOptions) | undefined
  /** Default: the standard environment variables. */
  readonly proxy?: ProxySettings | undefined
  /** `name version (details)`. */
  readonly userAgent: string
  /** What the runner tells about itself. Default: `runnerInfo()`. */
  readonly info?: RunnerInfo
  /** Age at which connections are not used again. 0: never. Milliseconds. Default: 15 minutes. */
  readonly connectionMaxAgeMs?: number
  /** Called after each try of a call, for metrics. */
  readonly onCall?: (record: CallRecord) => void
  readonly log: Logger
  readonly clock: Clock
  /** Aborts all calls. */
  readonly signal?: AbortSignal | undefined
}

export interface Coordinator extends RunnerCalls, JobCalls {
  /** Base of the API. Ends with `/api/v4/`. */
  readonly base: string
  /** Requests a job. Does not throw for a server that is down; rejects if a signal is aborted. */
  requestJob(request: JobRequest): Promise<JobRequestResult>
  /** Closes the connections. */
  close(): void
}

const MAX_AGE_MS = 15 * 60_000

/** Opens the client. Throws `config-invalid` for a URL that is not one of HTTP. */
export function openCoordinator(options: CoordinatorOptions): Coordinator {
  const { token, tls, proxy, userAgent, info = runnerInfo(), connectionMaxAgeMs: maxAgeMs = MAX_AGE_MS, clock, signal } = options
  const log = options.log.child({ runner: shortToken(token) })
  const { base, isLegacy } = apiAddress(options.url)
  if (isLegacy) log.warn({ base }, 'the URL of the runner ends with /ci, which is deprecated; remove /ci from `url`')
  const connections = openConnections({ base, tls, proxy, maxAgeMs, clock })
  const call = openCalls({ base, connections, userAgent, clock, log, signal, onCall: options.onCall })
  const job = jobCalls({ call, info })
  const request = jobRequest({ call, token, info, log, clock, updateJob: job.updateJob })
  return {
    base,
    ...runnerCalls({ call, token, info }),
    ...job,
    async requestJob(options) {
      try {
        return await request(options)
      } catch (error) {
        if (!isFault(error)) throw error
        if (!isFault(error, 'forge-unreachable')) log.error({ err: error }, 'cannot request a job')
        return { outcome: 'failed', pushedBack: false }
      }
    },
    close: () => connections.close(),
  }
}
