/** The three calls of an agent to a platform that speaks protocol v1. */
import { fault, isAbort, isFault, parseJson, readText, sentences, type FaultCode } from '@windlass/kit'
import type { HttpResponse, Transport } from '@windlass/protocol'
import type { TaskStatus } from './shapes.ts'

export interface Platform {
  /** Polls for tasks. Throws faults that may carry `retryAfterMs`. */
  tasks(signal: AbortSignal): Promise<readonly unknown[]>
  report(taskId: string, status: TaskStatus, signal: AbortSignal): Promise<void>
  heartbeat(message: string, signal: AbortSignal): Promise<void>
}

export interface PlatformOptions {
  /** Base URL, which may have a path. */
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
/** Maximum size of an answer, enough for thousands of manifests. Bytes. */
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
      const text = await readText(response.body, ANSWER_LIMIT, tooLong)
      if (response.status >= 400) throw refusal(response, text)
      return text
    } catch (error) {
      if (isAbort(error) || signal.aborted || isFault(error)) throw error
      const cause = error instanceof Error ? error.message : String(error)
      throw fault(
        'server-unreachable',
        { message: sentences(`The platform at ${options.url} cannot be reached: ${cause}`) },
        error,
      )
    }
  }

  return {
    async tasks(signal) {
      const answer = parseJson(await call('GET', '/tasks?waitForStatusReport=true', { signal }))
      if (Array.isArray(answer)) return answer
      throw fault('unavailable', { message: 'The platform answered a poll with something other than a list of tasks.' })
    },
    async report(taskId, status, signal) {
      await call('POST', `/tasks/${encodeURIComponent(taskId)}/statuses`, { body: status, signal })
    },
    async heartbeat(message, signal) {
      await call('PUT', '/status', { body: { message }, signal })
    },
  }
}

function tooLong(): Error {
  return fault('unavailable', { message: 'The answer of the platform is longer than 64 MiB.' })
}

function refusal(response: HttpResponse, text: string): Error {
  const { status } = response
  const retryAfter = Number(response.headers['retry-after'])
  const message = `The platform answered ${status}: ${text.slice(0, 300)}`
  const wait = Number.isFinite(retryAfter) && retryAfter > 0 ? { retryAfterMs: retryAfter * 1000 } : {}
  return fault(codeOf(status, text), { message, httpStatus: status, ...wait })
}

/** Statuses with which the platform refuses the content of a request. */
const INVALID = [400, 409, 410, 422]

/**
 * Returns the code of an answer. Only the platform knows that a task is gone or a report invalid, and it answers with JSON; pages of a proxy in front
 * of it pass.
 */
function codeOf(status: number, text: string): FaultCode {
  if (status === 401) return 'unauthenticated'
  if (status === 403) return 'forbidden'
  if (status === 429) return 'rate-limited'
  const answer = parseJson(text)
  if (typeof answer !== 'object' || answer === null) return 'unavailable'
  if (status === 404) return 'not-found'
  return INVALID.includes(status) ? 'request-invalid' : 'unavailable'
}
