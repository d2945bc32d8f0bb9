/** An HTTP server that replaces a cloud: it records requests and answers from a table. */
import http from 'node:http'
import { text } from 'node:stream/consumers'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export interface Said {
  readonly status?: number
  readonly headers?: http.OutgoingHttpHeaders
  readonly body: unknown
}

export interface FakeCloud extends AsyncDisposable {
  readonly url: string
  readonly asked: readonly Asked[]
  /** `METHOD path` of all calls. */
  calls(): string[]
}

export async function openFakeCloud(answer: (asked: Asked) => Said): Promise<FakeCloud> {
  const asked: Asked[] = []
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body }
      asked.push(one)
      const said = answer(one)
      response.writeHead(said.status ?? 200, { 'content-type': 'application/json', ...said.headers })
      response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    calls: () => asked.map(({ method, path }) => `${method} ${path}`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}
