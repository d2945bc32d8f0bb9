/** An HTTP proxy before a store that loses requests and answers, delays them or answers with errors. */
import http from 'node:http'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'

export interface StoreCall {
  readonly method: string
  /** Path with query. */
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
}

/**
 * What happens to a call: the store never gets it (`lose`), its answer never arrives (`cut`) or only half of it (`halve`), nothing is answered (`hang`),
 * or the proxy answers itself.
 */
export type Fate = 'pass' | 'lose' | 'cut' | 'halve' | 'hang' | { readonly status: number; readonly body: string }

export interface FlakyStore extends AsyncDisposable {
  readonly url: string
  readonly calls: readonly StoreCall[]
  /** Decides about each call. Default: all pass. */
  decide: (call: StoreCall) => Fate
  /** Applies the fate to the next call that matches. Later calls pass. */
  once(matches: RegExp, fate: Fate): void
  /** Ends the connections of the calls that hang. */
  dropHanging(): void
}

/** Starts a proxy before the store at `target`. It delays each call by `delayMs`. */
export async function openFlakyStore(target: string, delayMs = 0): Promise<FlakyStore> {
  const calls: StoreCall[] = []
  const hanging = new Set<Socket>()
  const agent = new http.Agent({ keepAlive: true })
  const server = http.createServer((request, response) => void serve(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0

  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request
    const call = { method, path, headers }
    calls.push(call)
    const fate = store.decide(call)
    request.on('error', () => undefined)
    if (fate === 'hang') return void hanging.add(request.socket)
    if (fate === 'lose') return void request.socket.destroy()
    const body = await buffer(request)
    if (delayMs > 0) await setTimeout(delayMs)
    if (typeof fate === 'object') return void response.writeHead(fate.status, { date: new Date().toUTCString() }).end(fate.body)
    const passed = http.request(target + path, { method, headers, agent })
    passed.end(body)
    const [answer] = (await once(passed, 'response')) as [http.IncomingMessage]
    const bytes = await buffer(answer)
    if (fate === 'cut') return void request.socket.destroy()
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    if (fate === 'pass') return void response.end(bytes)
    response.write(bytes.subarray(0, bytes.length / 2))
    await setTimeout(20)
    request.socket.destroy()
  }

  const store: FlakyStore = {
    url: `http://127.0.0.1:${port}`,
    calls,
    decide: () => 'pass',
    once(matches, fate) {
      let isDone = false
      this.decide = ({ method, path }) => {
        if (isDone || !matches.test(`${method} ${path}`)) return 'pass'
        isDone = true
        return fate
      }
    },
    dropHanging() {
      for (const socket of hanging) socket.destroy()
      hanging.clear()
    },
    async [Symbol.asyncDispose]() {
      agent.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return store
}
