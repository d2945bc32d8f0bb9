/** `/livez`, `/readyz`, `/metrics` and similar endpoints of a process for probes and Prometheus: text over plain HTTP on a separate port. */
import http from 'node:http'

export interface ProbeAnswer {
  readonly status: number
  readonly body: string
}

export interface ProbeServer extends AsyncDisposable {
  readonly port: number
}

/** Longest time for the request headers, so that idle clients cannot hold sockets open. */
const HEADERS_MS = 60_000

/** Serves until disposed. `answer` receives the path; undefined means 404. Rejects if the port is in use. */
export async function serveProbes(
  port: number,
  answer: (path: string) => ProbeAnswer | undefined | Promise<ProbeAnswer | undefined>,
): Promise<ProbeServer> {
  const server = http.createServer((request, response) => {
    const reply = ({ status, body }: ProbeAnswer): void =>
      void response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4' }).end(body)
    void Promise.try(() => answer(request.url ?? '')).then(
      (found) => reply(found ?? { status: 404, body: 'not found\n' }),
      () => reply({ status: 500, body: 'failed\n' }),
    )
  })
  server.headersTimeout = HEADERS_MS
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(port, resolve)
  await promise
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

/** Returns the response of a probe: 200 if healthy, otherwise 503 with the reason. */
export function probe(isHealthy: boolean, reason: string): ProbeAnswer {
  return isHealthy ? { status: 200, body: 'ok\n' } : { status: 503, body: `${reason}\n` }
}
