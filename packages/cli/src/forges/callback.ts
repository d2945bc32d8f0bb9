/** The loopback address to which a browser returns after a sign-in (RFC 8252 section 7.3). */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fault } from '@windlass/kit/faults'

const PATH = '/callback'
const MAX_HEADER_BYTES = 32_768

export interface Callback extends AsyncDisposable {
  readonly redirectUri: string
  /** Resolves with the query of the first call that has the state. */
  readonly answer: Promise<URLSearchParams>
}

/** Listens on 127.0.0.1. Calls with another state change nothing, because every page in the browser can make them. Throws `usage` for a port in use. */
export async function listenForCallback({ port, state }: { readonly port: number; readonly state: string }): Promise<Callback> {
  if (port > 65_535)
    throw fault('usage', { message: `${port} is not a port.`, hint: 'Use a number from 1 to 65535 with --callback-port.' })
  const answer = Promise.withResolvers<URLSearchParams>()
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
    const url = URL.parse(request.url ?? '', 'http://127.0.0.1')
    const isAnswer = url?.pathname === PATH && url.searchParams.get('state') === state
    const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close' }
    response
      .writeHead(isAnswer ? 200 : 404, headers)
      .end(isAnswer ? 'Windlass has received the sign-in. You can close this page.\n' : 'This is not a sign-in of Windlass.\n')
    if (isAnswer) answer.resolve(url.searchParams)
  })
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch (error) {
    throw fault(
      'usage',
      { message: `The command cannot listen on 127.0.0.1:${port}.`, hint: 'Use another port with --callback-port.' },
      error,
    )
  }
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    answer: answer.promise,
    async [Symbol.asyncDispose]() {
      server.close()
      // Lets the browser read the answer.
      const timer = setTimeout(() => server.closeAllConnections(), 1_000)
      await once(server, 'close')
      clearTimeout(timer)
    },
  }
}
