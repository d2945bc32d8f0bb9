/** Calls of registries, forges and issue trackers: a GET with limits, repeated for what can pass. A failure names the host and what to do, and never a header. */
import { explainUnreachable, nodeTransport, proxyFrom, readText, retry, systemClock, type Clock } from '@windlass/kit'
import { fault, isFault, type Fault } from '@windlass/kit/faults'
import { parseJson } from '@windlass/kit/json'
import type { Settings } from '../../config.ts'

const TIMEOUT_MS = 30_000
const CONNECT_MS = 10_000
/** A manifest, the configuration of an image, or a page of a list. */
const MAX_BYTES = 4_194_304
/** While a service is away or limits its calls. */
const REPEAT = { baseMs: 500, maxMs: 5_000, tries: 4 }

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

export type Ask = (url: URL, headers?: Readonly<Record<string, string>>) => Promise<Answered>

type Options = Pick<Settings, 'caFile' | 'environment'> & { readonly clock?: Clock }

/**
 * Returns a function that throws `service-unreachable` for a service that does not answer, or answers with 429 or 5xx, several times, and `service-refused` for an answer
 * that is too large. Redirects are answers.
 */
export function openAsk({ caFile, environment, clock = systemClock }: Options): Ask {
  const transport = nodeTransport({ caFile, proxy: proxyFrom(environment), connectMs: CONNECT_MS })
  const retryIf = (error: unknown): boolean => isFault(error) && error.retryable

  async function askOnce(url: URL, headers: Readonly<Record<string, string>>): Promise<Answered> {
    const tooLarge = (): Error =>
      fault('service-refused', { message: `The answer of ${url.host} is larger than ${MAX_BYTES / 1_048_576} MiB.` })
    try {
      const given = { accept: 'application/json', 'user-agent': 'windlass', ...headers }
      const answer = await transport({ method: 'GET', url: url.href, headers: given, timeoutMs: TIMEOUT_MS })
      const text = await readText(answer.body, MAX_BYTES, tooLarge)
      if (answer.status === 429 || answer.status >= 500) throw away(url, answer)
      return { status: answer.status, headers: answer.headers, text }
    } catch (error) {
      if (isFault(error)) throw error
      const { cause, hint } = explainUnreachable(error, url.href)
      throw fault('service-unreachable', { message: `${url.host} does not answer: ${cause}.`, hint }, error)
    }
  }

  return (url, headers = {}) => retry({ ...REPEAT, clock, retryIf }, () => askOnce(url, headers))
}

function away(url: URL, { status, headers }: Omit<Answered, 'text'>): Fault {
  const seconds = Number(headers['retry-after'])
  const message = `${url.host} answered with status ${status}.`
  return fault('service-unreachable', { message, ...(seconds > 0 && { retryAfter: seconds }) })
}

/** Returns the JSON of an answer with status 200. Throws `service-refused`. `hint`: for a login that is refused. */
export function jsonOf(url: URL, { status, text }: Answered, hint?: string): unknown {
  const body = status === 200 ? parseJson(text) : undefined
  if (body !== undefined) return body
  const isDenied = status === 401 || status === 403
  throw fault('service-refused', {
    message: status === 200 ? `The answer of ${url.host} is not JSON.` : `${url.host} answered with status ${status}.`,
    ...(isDenied && hint !== undefined && { hint }),
  })
}
