/** The three calls of an agent to a platform that speaks protocol v1 (runner specification 2.3 and 2.4). */
import { fault, isAbort, isFault, type FaultCode } from '@windlass/kit'
import type { HttpResponse, Transport } from '@windlass/protocol'
import type { TaskStatus } from './shapes.ts'

export interface Platform {
  /** What is to be done; throws faults that may carry `retryAfterMs`. */
  tasks(signal: AbortSignal): Promise<readonly unknown[]>
  report(taskId: string, status: TaskStatus, signal: AbortSignal): Promise<void>
  heartbeat(message: string, signal: AbortSignal): Promise<void>
}

export interface PlatformOptions {
  /** Base URL; its path is kept. */
  readonly url: string
  readonly agentId: string
  readonly token: string
  readonly transport: Transport
  readonly version: string
  /** Version of the chart that installed this agent. */
  readonly chartVersion?: string | undefined
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 30_000
/** Longest answer that is read: thousands of manifests. */
const ANSWER_LIMIT = 64 * 1024 * 1024

export function openPlatform(options: PlatformOptions): Platform {
  const base = `${options.url.replace(/\/+$/, '')}/api/agent/${encodeURIComponent(options.agentId)}`
  const chart = options.chartVersion === undefined ? '' : ` cf-classic-runtime/${options.chartVersion}`
  const headers = {
    authorization: options.token,
    'content-type': 'application/json',
    'user-agent': `cf-classic-runner/${options.version}${chart}`,
  }

  async function call(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    rest: { body?: unknown; signal: AbortSignal },
  ): Promise<string> {
    const { body, signal } = rest
    const request = { method, url: base + path, headers, signal, timeoutMs: options.timeoutMs ?? TIMEOUT_MS }
    try {
      const response = await options.transport({ ...request, ...(body !== undefined && { body: JSON.stringify(body) }) })
      const text = await readText(response)
      if (response.status >= 400) throw refusal(response, text)
      return text
    } catch (error) {
      if (isAbort(error) || signal.aborted || isFault(error)) throw error
      const words = error instanceof Error ? error.message : String(error)
      throw fault('server-unreachable', { message: `The platform at ${options.url} cannot be reached: ${words}.` }, error)
    }
  }

  return {
    async tasks(signal) {
      const answer = parse(await call('GET', '/tasks?waitForStatusReport=true', { signal }))
      if (Array.isArray(answer)) return answer
      throw fault('unavailable', { message: 'The platform answered a poll with something else than a list of tasks.' })
    },
    async report(taskId, status, signal) {
      await call('POST', `/tasks/${encodeURIComponent(taskId)}/statuses`, { body: status, signal })
    },
    async heartbeat(message, signal) {
      await call('PUT', '/status', { body: { message }, signal })
    },
  }
}

async function readText(response: HttpResponse): Promise<string> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of response.body) {
    length += part.byteLength
    if (length > ANSWER_LIMIT) throw fault('unavailable', { message: 'The answer of the platform is too long.' })
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function refusal(response: HttpResponse, text: string): Error {
  const { status } = response
  const retryAfter = Number(response.headers['retry-after'])
  const message = `The platform answered ${status}: ${text.slice(0, 300)}`
  const wait = Number.isFinite(retryAfter) && retryAfter > 0 ? { retryAfterMs: retryAfter * 1000 } : {}
  return fault(codeOf(status), { message, httpStatus: status, ...wait })
}

function codeOf(status: number): FaultCode {
  if (status === 401) return 'unauthenticated'
  if (status === 403) return 'forbidden'
  if (status === 404) return 'not-found'
  if (status === 429) return 'rate-limited'
  return status >= 500 ? 'unavailable' : 'request-invalid'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
