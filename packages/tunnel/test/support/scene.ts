/** Servers of tunnels and clients on the loopback interface. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import net, { type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHmac } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { proxyFrom, silentLog, systemClock } from '@windlass/kit'
import { startTunnelClient, type TunnelClient, type TunnelClientOptions } from '../../src/client/index.ts'
import { openTunnelServer, type PeerKey, type TunnelServer, type TunnelServerOptions } from '../../src/server/index.ts'
import { MemoryRegistry } from './registry.ts'
import { startService, type Service } from './service.ts'

export const DOMAIN = 'tunnels.test'
export const HOST = `a-prod.${DOMAIN}`

export interface RunningServer {
  readonly tunnel: TunnelServer
  readonly port: number
  readonly url: URL
}

export interface ClientInput extends Partial<TunnelClientOptions> {
  readonly env?: Readonly<Record<string, string>>
}

export interface Scene extends AsyncDisposable {
  readonly registry: MemoryRegistry
  readonly router: Service
  readonly server: RunningServer
  /** Writes a token, which is valid for the runtime if it is given. */
  writeToken(token: string, runtime?: string): void
  startServer(options?: Partial<TunnelServerOptions> & { readonly name?: string; readonly port?: number }): Promise<RunningServer>
  startClient(input?: ClientInput): TunnelClient
  /** Starts a client and waits until it gets calls. */
  connect(input?: ClientInput): Promise<TunnelClient>
}

const peerKey: PeerKey = {
  sign: async (text) => createHmac('sha256', 'key').update(text).digest('base64url'),
  verify: (text, code) => createHmac('sha256', 'key').update(text).digest('base64url') === code,
}

export async function openScene(options: Partial<TunnelServerOptions> = {}): Promise<Scene> {
  const registry = new MemoryRegistry()
  const router = await startService()
  const folder = mkdtempSync(join(tmpdir(), 'windlass-tunnel-'))
  const tokenFile = join(folder, 'token')
  const servers: TunnelServer[] = []
  const clients: TunnelClient[] = []
  let started = 0
  const startServer: Scene['startServer'] = async ({ name = `server-${(started += 1)}`, port = 0, ...more } = {}) => {
    const tunnel = openTunnelServer({
      domain: DOMAIN,
      urlOf: (prefix) => `https://${prefix}.${DOMAIN}`,
      registry: registry.of(name),
      clock: systemClock,
      log: silentLog,
      callerOf: ({ socket }) => ({ address: socket.remoteAddress ?? '', isSecure: (more.tls ?? options.tls) !== undefined }),
      peers: { key: peerKey },
      ...options,
      ...more,
    })
    servers.push(tunnel)
    await once(tunnel.http.listen(port, '127.0.0.1'), 'listening')
    const address = tunnel.http.address()
    const bound = typeof address === 'object' && address !== null ? address.port : 0
    const scheme = (more.tls ?? options.tls) === undefined ? 'http' : 'https'
    registry.urls.set(name, `${scheme}://127.0.0.1:${bound}`)
    return { tunnel, port: bound, url: new URL(`${scheme}://localhost:${bound}`) }
  }
  const server = await startServer()
  const writeToken = (token: string, runtime?: string): void => {
    if (runtime !== undefined) registry.tokens.set(token, runtime)
    writeFileSync(tokenFile, `${token}\n`)
  }
  writeToken('first', 'prod')
  const startClient: Scene['startClient'] = ({ env = {}, ...input } = {}) => {
    const client = startTunnelClient({
      server: server.url,
      runtime: 'prod',
      tokenFile,
      router: router.url,
      prefixes: ['/app-proxy', '/workflows', '/webhooks'],
      version: '1.0.0',
      // Loopback is always reached directly, except in tests of proxies.
      proxy: proxyFrom(env),
      clock: systemClock,
      log: silentLog,
      ...input,
    })
    clients.push(client)
    return client
  }
  return {
    registry,
    router,
    server,
    writeToken,
    startServer,
    startClient,
    async connect(input) {
      const client = startClient(input)
      await until(() => client.status().isOnline)
      return client
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()))
      await Promise.all(servers.map((one) => one.close()))
      await router[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Resolves when the condition holds. The limit of the test ends a wait without end. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await systemClock.sleep(10)
}

export interface CallInput {
  readonly method?: string
  readonly host?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly ca?: string
  readonly agent?: http.Agent
}

export interface Called {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly trailers: IncomingMessage['trailers']
  readonly text: string
}

/** Begins a call of a host of the tunnel. */
export function begin({ port }: Pick<RunningServer, 'port'>, path: string, input: CallInput = {}): http.ClientRequest {
  const { method = 'GET', host = HOST, headers, body, ca, agent } = input
  // Node frames no body of methods such as DELETE by itself.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const options = { host: '127.0.0.1', port, path, method, headers: { host, ...length, ...headers }, maxHeaderSize: 65_536 }
  return ca === undefined
    ? http.request({ ...options, agent: agent ?? false })
    : https.request({ ...options, agent: false, ca, servername: host })
}

/** Makes a call and reads its answer. Rejects if the answer breaks. */
export async function call(server: Pick<RunningServer, 'port'>, path: string, input: CallInput = {}): Promise<Called> {
  const request = begin(server, path, input)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request.once('response', resolve).on('error', reject)
  request.end(input.body)
  const response = await promise
  const text = (await buffer(response)).toString()
  return { status: response.statusCode ?? 0, headers: response.headers, trailers: response.trailers, text }
}

/** Returns the code of a problem. */
export function codeOf({ text }: Called): string {
  return (JSON.parse(text) as { code: string }).code
}

/** A TCP connection between client and server that a test can cut. */
export interface Wire extends AsyncDisposable {
  readonly port: number
  /** Closes all connections. Until `repair`, new ones are refused. */
  cut(): void
  /** Lets nothing through, without closing. */
  freeze(): void
  repair(): void
  /** Leads new connections to another port. */
  leadTo(port: number): void
}

export async function openWire(port: number): Promise<Wire> {
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'frozen' = 'open'
  let target = port
  const server = net.createServer((near) => {
    if (state === 'cut') return void near.destroy()
    const far = net.connect(target, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.once('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.on('data', (chunk: Buffer) => {
        if (!other.write(chunk)) {
          one.pause()
          other.once('drain', () => state !== 'frozen' && one.resume())
        }
      })
      if (state === 'frozen') one.pause()
    }
    return undefined
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cut() {
      state = 'cut'
      for (const socket of sockets) socket.destroy()
    },
    freeze() {
      state = 'frozen'
      for (const socket of sockets) socket.pause()
    },
    repair() {
      state = 'open'
      for (const socket of sockets) socket.resume()
    },
    leadTo(next) {
      target = next
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}
