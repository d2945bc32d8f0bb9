/** The calls of the Docker Engine API that the engine uses, for one daemon. Safe for concurrent use. */
import { backoffMs, fault, isFault, type Clock } from '@windlass/kit'
import { z } from 'zod'
import { containerCalls, type Containers } from './containers.ts'
import { findEndpoint } from './endpoint.ts'
import { execCalls, type Execs } from './execs.ts'
import { housekeepingCalls, type Housekeeping } from './housekeeping.ts'
import { openHttp, type DockerHttp, type OnRetry } from './http.ts'
import { imageCalls, type Images } from './images.ts'
import { statsCalls, type Stats } from './stats.ts'
import { networkCalls, type Networks } from './networks.ts'
import { systemCalls, type System } from './system.ts'
import { volumeCalls, type Volumes } from './volumes.ts'

export interface DockerOptions {
  /**
   * Variables of the docker CLI: DOCKER_HOST, DOCKER_CONTEXT, DOCKER_TLS_VERIFY, DOCKER_CERT_PATH, DOCKER_CONFIG, HOME. Also DOCKER_TLS_SERVER_NAME,
   * the name in the daemon's certificate if it does not contain the address.
   */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Called before a call is repeated. */
  readonly onRetry?: OnRetry | undefined
}

export interface Docker extends Containers, Execs, Housekeeping, Images, Stats, Networks, System, Volumes {
  /** Address of the daemon, for messages. */
  readonly host: string
  /** Version of the daemon. */
  readonly version: string
  /** The negotiated API version, for example `1.41`. */
  readonly api: string
  /** To be called before a call is repeated by its caller. */
  readonly onRetry?: OnRetry | undefined
  /** Path of the daemon's socket on its own machine, for containers that use it. */
  readonly socketPath: string
  /** Returns true if the API has this version or a later one. */
  hasApi(version: string): boolean
  /** Throws `docker-unreachable`. */
  ping(timeoutMs: number): Promise<void>
  close(): void
}

const NEWEST_API = '1.47'
/** The minimum API version of this client. */
const OLDEST_API = '1.40'
const PING_MS = 10_000

const Version = z.looseObject({ Version: z.string() })

/** Connects and negotiates the API version. Throws `docker-unreachable`, `config-invalid`, or `docker-refused` if the daemon is too old. */
export async function openDocker(options: DockerOptions, signal?: AbortSignal): Promise<Docker> {
  const http = openHttp(findEndpoint(options.env), options.onRetry)
  try {
    const api = await negotiate(http, signal)
    const { Version: version } = await http.json('GET', '/version', Version, { timeoutMs: PING_MS, signal })
    return toDocker(http, { api, version })
  } catch (error) {
    http.close()
    throw error
  }
}

/** Connects to a daemon that may still be starting. Retries with a backoff of up to half a second until `signal` is aborted. */
export async function awaitDocker(
  options: DockerOptions,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<Docker> {
  for (let n = 1; ; n += 1) {
    signal.throwIfAborted()
    try {
      return await openDocker(options, signal)
    } catch (error) {
      if (!isFault(error, 'docker-unreachable')) throw error
      const delayMs = backoffMs({ baseMs: 20, maxMs: 500 }, Math.ceil(n / 10))
      options.onRetry?.({ operation: 'connect', error, delayMs })
      await clock.sleep(delayMs, signal)
    }
  }
}

function toDocker(http: DockerHttp, { api, version }: { api: string; version: string }): Docker {
  const { endpoint } = http
  const rootless = endpoint.kind === 'unix' && endpoint.path.startsWith('/run/user/')
  return {
    host: endpoint.text,
    onRetry: http.onRetry,
    version,
    api,
    socketPath: rootless ? endpoint.path : '/var/run/docker.sock',
    hasApi: (wanted) => compareVersions(api, wanted) >= 0,
    ping: (timeoutMs) => http.done('GET', '/_ping', { timeoutMs }),
    close: () => http.close(),
    ...containerCalls(http),
    ...execCalls(http),
    ...housekeepingCalls(http),
    ...imageCalls(http),
    ...statsCalls(http),
    ...networkCalls(http),
    ...systemCalls(http),
    ...volumeCalls(http),
  }
}

async function negotiate(http: DockerHttp, signal: AbortSignal | undefined): Promise<string> {
  const response = await http.stream('GET', '/_ping', { timeoutMs: PING_MS, signal })
  response.resume()
  const header = response.headers['api-version']
  const offered = typeof header === 'string' ? header : OLDEST_API
  if (compareVersions(offered, OLDEST_API) < 0)
    throw fault('docker-refused', {
      message: `The Docker daemon at ${http.endpoint.text} offers API ${offered}, but at least ${OLDEST_API} is required.`,
      hint: 'Upgrade Docker to 19.03 or later.',
    })
  const api = compareVersions(offered, NEWEST_API) < 0 ? offered : NEWEST_API
  http.prefix = `/v${api}`
  return api
}

function compareVersions(a: string, b: string): number {
  const [majorA = 0, minorA = 0] = a.split('.').map(Number)
  const [majorB = 0, minorB = 0] = b.split('.').map(Number)
  return majorA - majorB || minorA - minorB
}
