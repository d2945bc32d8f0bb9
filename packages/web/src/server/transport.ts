/** Sends the calls of the page to the server that it comes from, with the cookie of the session. */
import { PAGE_HEADER, type HttpResponse, type Transport } from '@windlass/protocol'
import { now } from '../looks/clock.ts'
import { reportAnswer, reportSilence } from './away.ts'
import { openPatience, type Patience } from './patience.ts'
import { openRepeatKeys, type Repeat } from './repeat-keys.ts'

const repeats = openRepeatKeys(now)
/** The server writes to a stream of events every 15 seconds. Milliseconds. */
const SILENT_MS = 45_000

/** The transport of a page. The header marks its calls as those of a page of this server, which pages of other origins cannot send. */
export const pageTransport: Transport = async ({ method, url, headers, body, signal, timeoutMs }) => {
  const repeat = repeats.begin({ method, url, headers, body })
  const patience = headers['accept'] === 'text/event-stream' ? openPatience(SILENT_MS) : undefined
  const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
  const limits = [signal, timeout, patience?.signal].filter((one) => one !== undefined)
  try {
    const call = fetch(url, {
      method,
      headers: { ...repeat.headers, [PAGE_HEADER]: '1' },
      ...(body !== undefined && { body: toBody(body) }),
      signal: limits.length === 0 ? null : AbortSignal.any(limits),
      credentials: 'same-origin',
      redirect: 'error',
    })
    const response = await (patience?.during(call) ?? call)
    if (isFromGateway(response)) reportSilence()
    else reportAnswer()
    return toResponse(response, { repeat, patience })
  } catch (error) {
    repeat.lost()
    if (signal?.aborted !== true) reportSilence()
    throw error
  }
}

/** Returns true for an answer that a gateway gives for a server which it does not reach. Those of the server itself have a problem as body. */
function isFromGateway(response: Response): boolean {
  const { status } = response
  return (status === 404 || (status >= 502 && status <= 504)) && !isProblem(response)
}

/** Returns true for a refusal by the server itself. */
function isProblem({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('application/problem+json') === true
}

function toBody(body: string | Uint8Array): BodyInit {
  return typeof body === 'string' ? body : new Uint8Array(body)
}

interface Reading {
  readonly repeat: Repeat
  readonly patience: Patience | undefined
}

function toResponse(response: Response, { repeat, patience }: Reading): HttpResponse {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: readBody(response, patience),
    async text() {
      try {
        const text = await response.text()
        if (response.status < 400 || (response.status < 500 && isProblem(response))) repeat.answered()
        else repeat.lost()
        return text
      } catch (error) {
        repeat.lost()
        throw error
      }
    },
  }
}

/** Yields the parts of a body. Cancels the response if the reader stops early. */
async function* readBody({ body }: Response, patience: Patience | undefined): AsyncGenerator<Uint8Array> {
  if (body === null) return
  const reader = body.getReader()
  const read = () => patience?.during(reader.read()) ?? reader.read()
  try {
    for (let part = await read(); !part.done; part = await read()) yield part.value
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
