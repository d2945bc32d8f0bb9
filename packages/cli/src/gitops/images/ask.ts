/** Calls of registries, forges and issue trackers: a GET with limits. A failure names the host and what to do, and never a header. */
import { explainUnreachable, nodeTransport, proxyFrom, readText } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { parseJson } from '@windlass/kit/json'
import type { Settings } from '../../config.ts'

const TIMEOUT_MS = 30_000
const CONNECT_MS = 10_000
/** A manifest, the configuration of an image, or a page of a list. */
const MAX_BYTES = 4_194_304

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
}

export type Ask = (url: URL, headers?: Readonly<Record<string, string>>) => Promise<Answered>

/** Returns a function that throws `service-unreachable`, and `service-refused` for an answer that is too large. Redirects are answers. */
export function openAsk({ caFile, environment }: Pick<Settings, 'caFile' | 'environment'>): Ask {
  const transport = nodeTransport({ caFile, proxy: proxyFrom(environment), connectMs: CONNECT_MS })
  return async (url, headers = {}) => {
    const tooLarge = (): Error =>
      fault('service-refused', { message: `The answer of ${url.host} is larger than ${MAX_BYTES / 1_048_576} MiB.` })
    try {
      const given = { accept: 'application/json', 'user-agent': 'windlass', ...headers }
      const answer = await transport({ method: 'GET', url: url.href, headers: given, timeoutMs: TIMEOUT_MS })
      return { status: answer.status, headers: answer.headers, text: await readText(answer.body, MAX_BYTES, tooLarge) }
    } catch (error) {
      if (isFault(error)) throw error
      const { cause, hint } = explainUnreachable(error, url.href)
      throw fault('service-unreachable', { message: `${url.host} does not answer: ${cause}.`, hint }, error)
    }
  }
}

/** Returns the JSON of an answer with status 200. Throws `service-unreachable` for one that can pass, and `service-refused` for others. `hint`: for a login that is refused. */
export function jsonOf(url: URL, { status, text }: Answered, hint?: string): unknown {
  const body = status === 200 ? parseJson(text) : undefined
  if (body !== undefined) return body
  const isDenied = status === 401 || status === 403
  throw fault(status === 429 || status >= 500 ? 'service-unreachable' : 'service-refused', {
    message: status === 200 ? `The answer of ${url.host} is not JSON.` : `${url.host} answered with status ${status}.`,
    ...(isDenied && hint !== undefined && { hint }),
  })
}
