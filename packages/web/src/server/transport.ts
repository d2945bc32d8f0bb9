/** Sends the calls of the page to the server that it comes from, with the cookie of the session. */
import { PAGE_HEADER, type HttpResponse, type Transport } from '@windlass/protocol'
import { reportAnswer, reportSilence } from './away.ts'

/** The transport of a page. The header marks its calls as those of a page of this server, which pages of other origins cannot send. */
export const pageTransport: Transport = async ({ method, url, headers, body, signal, timeoutMs }) => {
  const limits = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)].filter((one) => one !== undefined)
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, [PAGE_HEADER]: '1' },
      ...(body !== undefined && { body: toBody(body) }),
      signal: limits.length === 0 ? null : AbortSignal.any(limits),
      credentials: 'same-origin',
      redirect: 'error',
    })
    if (isFromGateway(response)) reportSilence()
    else reportAnswer()
    return toResponse(response)
  } catch (error) {
    if (signal?.aborted !== true) reportSilence()
    throw error
  }
}

/** Returns true for an answer that a gateway gives for a server which it does not reach. */
function isFromGateway({ status, headers }: Response): boolean {
  return status >= 502 && status <= 504 && headers.get('content-type')?.startsWith('application/problem+json') !== true
}

function toBody(body: string | Uint8Array): BodyInit {
  return typeof body === 'string' ? body : new Uint8Array(body)
}

function toResponse(response: Response): HttpResponse {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: readBody(response),
    text: () => response.text(),
  }
}

/** Yields the parts of a body. Cancels the response if the reader stops early. */
async function* readBody({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return
  const reader = body.getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
