import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'

export interface Heard {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

/** Replaces the usual answer to a call. */
export type Trouble =
  | number
  | 'hang'
  | 'cut'
  | 'nonsense'
  | { readonly status: number; readonly retryAfter: string }
  /** Of the platform itself. A bare number is the answer of a proxy in front of it. */
  | { readonly status: number; readonly error: string }

/** A platform that supports only protocol v1 and follows a script. */
export interface FakePlatform extends AsyncDisposable {
  readonly url: string
  readonly polls: Heard[]
  readonly reports: Heard[]
  readonly heartbeats: Heard[]
  /** Other calls, such as a hello of protocol v2, which are answered with 404. */
  readonly others: Heard[]
  /** Answers of the next polls; each list is used once. */
  readonly script: unknown[][]
  /** A promise delays the answer until it resolves. */
  trouble: (heard: Heard) => Trouble | undefined | Promise<Trouble | undefined>
  /** Returns the reports of a task, oldest first. */
  reportsOf(taskId: string): Record<string, unknown>[]
}

export interface FakePlatformOptions {
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly port?: number
}

export async function openFakePlatform({ tls, port = 0 }: FakePlatformOptions = {}): Promise<FakePlatform> {
  const serve: http.RequestListener = (request, response) => void answer(request, response)
  const server = tls === undefined ? http.createServer(serve) : https.createServer(tls, serve)
  // Kept connections stay open, also over a pause of this process.
  server.keepAliveTimeout = 0

  async function answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const heard = await read(request)
    const action = /^(?:\/base)?\/api\/agent\/[^/]+\/(.*)$/.exec(heard.path)?.[1] ?? ''
    const list = action === 'tasks' ? platform.polls : action === 'status' ? platform.heartbeats : undefined
    ;(list ?? (action.startsWith('tasks/') ? platform.reports : platform.others)).push(heard)
    const trouble = await platform.trouble(heard)
    if (trouble === 'hang') return
    if (trouble === 'cut') return void request.socket.destroy()
    if (trouble === 'nonsense') return void response.end('<html>')
    if (typeof trouble === 'object' && 'error' in trouble) {
      const { status, error } = trouble
      response.writeHead(status, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify({ status, code: '0', name: error, message: error, context: {} }))
    }
    if (trouble !== undefined) {
      const { status, retryAfter } = typeof trouble === 'number' ? { status: trouble, retryAfter: undefined } : trouble
      return void response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end('trouble')
    }
    if (action === '') return void response.writeHead(404).end('not found')
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(action === 'tasks' ? JSON.stringify(platform.script.shift() ?? []) : '{}')
  }

  await once(server.listen(port, '127.0.0.1'), 'listening')
  const address = server.address()
  const host = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  const platform: FakePlatform = {
    url: `${tls === undefined ? 'http' : 'https'}://${host}`,
    polls: [],
    reports: [],
    heartbeats: [],
    others: [],
    script: [],
    trouble: () => undefined,
    reportsOf: (taskId) =>
      platform.reports.filter(({ path }) => path.includes(`/tasks/${taskId}/statuses`)).map(({ body }) => body),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return platform
}

async function read(request: http.IncomingMessage): Promise<Heard> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  const text = Buffer.concat(parts).toString('utf8')
  const [path = '', query = ''] = (request.url ?? '').split('?')
  return { method: request.method ?? '', path, query, headers: request.headers, body: text === '' ? {} : JSON.parse(text) }
}
