/** Reads JSON of a foreign account. The token goes to this host only, and into no message. */
import { nodeTransport, readText, retry, systemClock, type TransportResponse } from '@windlass/kit'
import { fault, isFault, sentences } from '@windlass/kit/faults'
import { isRecord, parseJson } from '@windlass/kit/json'
import { printable } from '../../../format/printable.ts'

const TIMEOUT_MS = 30_000
const TRIES = { baseMs: 500, maxMs: 4_000, tries: 4 }
const MAX_ANSWER_BYTES = 32 * 1_048_576
/** Everything is in memory at once. */
const MAX_TOTAL_BYTES = 8 * MAX_ANSWER_BYTES
const MAX_QUOTED = 200

export interface AccountAddress {
  /** Base URL, without `/api`. */
  readonly url: string
  readonly token: string
  readonly caFile: string | undefined
  readonly signal: AbortSignal
}

export interface AccountClient {
  /** Reads a path below the base URL. Throws faults with the path, the reason and what to do. Repeats calls that may succeed later. */
  read(path: string): Promise<unknown>
}

/** Opens a client. Sends nothing yet. */
export function openAccount({ url, token, caFile, signal }: AccountAddress): AccountClient {
  const transport = nodeTransport({ caFile, connectMs: TIMEOUT_MS })
  // Public clients send the bare key.
  const headers = { accept: 'application/json', authorization: token }
  const withoutToken = (text: string): string => text.replaceAll(token, '*****')
  let total = 0
  const readOnce = async (path: string): Promise<unknown> => {
    const response = await transport({ method: 'GET', url: url + path, headers, signal, timeoutMs: TIMEOUT_MS })
    const text = await readText(response.body, MAX_ANSWER_BYTES, () => tooLarge(`GET ${path}`, MAX_ANSWER_BYTES))
    total += text.length
    if (total > MAX_TOTAL_BYTES) throw tooLarge('all paths', MAX_TOTAL_BYTES)
    requireSuccess(response, { path, text, url, withoutToken })
    const value = parseJson(text)
    if (value === undefined)
      throw fault('unavailable', {
        message: `The answer to GET ${path} of ${url} is not JSON.`,
        hint: 'Check the URL of --from.',
        isFinal: true,
      })
    return value
  }
  const readSafely = async (path: string): Promise<unknown> => {
    try {
      return await readOnce(path)
    } catch (error) {
      if (isFault(error) || signal.aborted) throw error
      const reason = error instanceof Error ? error.message : String(error)
      throw fault('server-unreachable', {
        message: sentences(`GET ${path} of ${url} failed: ${printable(withoutToken(reason))}`),
        hint: 'Check the URL of --from and the network.',
      })
    }
  }
  const retryIf = (error: unknown): boolean => isFault(error) && error.retryable && error.details['isFinal'] !== true
  return { read: (path) => retry({ ...TRIES, clock: systemClock, signal, retryIf }, () => readSafely(path)) }
}

function tooLarge(what: string, bytes: number): Error {
  return fault('payload-too-large', {
    message: `The answer to ${what} is larger than ${bytes / 1_048_576} MiB.`,
    hint: 'Export the resources to files and migrate those.',
  })
}

interface Answer {
  readonly path: string
  readonly text: string
  readonly url: string
  readonly withoutToken: (text: string) => string
}

/** Throws the fault of a response that is not a success. */
function requireSuccess({ status, headers }: TransportResponse, { path, text, url, withoutToken }: Answer): void {
  if (status >= 200 && status < 300) return
  const call = `GET ${path} of ${url}`
  if (status < 400)
    throw fault('usage', {
      message: `${call} was redirected (${status}). The token is not sent to another address.`,
      hint: 'Name the final URL with --from.',
    })
  const message = `${call} was answered with ${status}${quote(text, withoutToken)}.`
  const seconds = Number(headers['retry-after'])
  if (status === 429) throw fault('rate-limited', { message, ...(seconds > 0 && { retryAfter: seconds }) })
  if (status === 401)
    throw fault('unauthenticated', {
      message,
      hint: 'Check the key in the file of --token-file. It must be an API key of the account.',
    })
  if (status === 403)
    throw fault('forbidden', { message, hint: 'Use a key that may read projects, pipelines, contexts and step types.' })
  // The account answers with JSON. A page is that of a proxy, which does not know what the account has.
  if (status === 404)
    throw fault(isRecord(parseJson(text)) ? 'not-found' : 'proxy-answered', { message, hint: 'Check the URL of --from.' })
  if (status < 500) throw fault('request-invalid', { message, hint: 'Check the URL of --from.' })
  // A plain 500 is a failure of this request; gateways send the others while a server restarts.
  throw fault('unavailable', { message, hint: 'Repeat the command later.', isFinal: ![502, 503, 504].includes(status) })
}

/** Returns the message of an error response for a sentence. */
function quote(text: string, withoutToken: Answer['withoutToken']): string {
  const body = parseJson(text)
  const message = typeof body === 'object' && body !== null && 'message' in body ? body.message : undefined
  if (typeof message !== 'string' || message === '') return ''
  // The text may contain the token in another spelling, which JSON allows.
  return `: ${printable(withoutToken(message).slice(0, MAX_QUOTED)).replace(/\.$/, '')}`
}
