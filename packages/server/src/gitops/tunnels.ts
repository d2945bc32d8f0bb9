/** The listener of tunnels: settings, audit records, and the wake-ups from other servers. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import proxyAddr from '@fastify/proxy-addr'
import { attempt, exposition, newId, readNamedFile, ticks, type Fault } from '@windlass/kit'
import { openTunnelServer, type Hello, type Session, type TunnelServer } from '@windlass/tunnel/server'
import type { App } from '../app.ts'
import type { AuditedCall } from '../audit/call.ts'
import { addRecord, recordFailure } from '../audit/record.ts'
import { tunnelFacts, type TunnelOptions } from './facts.ts'
import { peerKey } from './peer-key.ts'
import type { CallRuntime } from './live/runtime-client.ts'
import { openRegistry } from './registry.ts'
import { TUNNEL_TOPIC } from './runtimes.ts'

export interface TunnelListener {
  readonly port: number
  /** Sends a call of this server to a runtime. */
  readonly call: CallRuntime
  /** Asks the clients to connect elsewhere and closes, within 5 s. */
  close(): Promise<void>
}

/** A burst is what an address may call in this time after a rest. Seconds. */
const BURST_S = 10

/** Listens for clients and callers. Throws `config-invalid` for certificates that cannot be read, and if the port is in use. */
export async function listenForTunnels(
  app: App,
  options: TunnelOptions,
  trustedProxies: readonly string[] = [],
): Promise<TunnelListener> {
  const { clock, log, store, closing } = app
  const { urlOf, timings } = tunnelFacts(options)
  const { callsPerSecond, bytesPerSecond, tls, peerUrl, peerCaFile, secondClient = 'reject' } = options
  const trust = proxyAddr.compile([...trustedProxies])
  const server = openTunnelServer({
    domain: options.domain.replace(/:\d+$/, ''),
    urlOf,
    clock,
    log,
    timings,
    registry: openRegistry(app, { server: newId(clock.now()), serverUrl: peerUrl, secondClient, timings }),
    callerOf: (request) => ({
      address: proxyAddr(request, trust),
      isSecure: tls !== undefined || (trust(request.socket.remoteAddress ?? '', 0) && isForwardedSecure(request)),
    }),
    tls: tls && readCertificate(tls),
    peers: store.isShared
      ? { key: peerKey(app), ca: peerCaFile === undefined ? undefined : readNamedFile(peerCaFile) }
      : undefined,
    events: auditEvents(app),
    callRate: callsPerSecond === undefined ? undefined : { perSecond: callsPerSecond, burst: callsPerSecond * BURST_S },
    bytesPerSecond,
  })
  const listening = store.listen((topic) => {
    if (!topic.startsWith(TUNNEL_TOPIC) || closing.aborted) return
    server.forgetRoutes()
    void server.recheck(topic.slice(TUNNEL_TOPIC.length))
  })
  try {
    server.http.listen({ host: options.host ?? '127.0.0.1', port: options.port })
    await once(server.http, 'listening')
  } catch (error) {
    listening[Symbol.dispose]()
    await server.close()
    throw error
  }
  const address = server.http.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  app.metrics.more.push(() => exposition(server.metrics()))
  if (tls !== undefined) void renewCertificate(app, server, { ...tls, everyMs: options.certificateMs ?? CERTIFICATE_MS })
  log.info({ port, domain: options.domain }, 'server listens for tunnels')
  return {
    port,
    call: (prefix, request) => server.call(prefix, request),
    async close() {
      listening[Symbol.dispose]()
      await server.close()
    },
  }
}

/** How often the certificate is read again, which others renew. Milliseconds. */
const CERTIFICATE_MS = 60_000

type Files = NonNullable<TunnelOptions['tls']>

function readCertificate({ certFile, keyFile }: Files): { readonly cert: string; readonly key: string } {
  return { cert: readNamedFile(certFile), key: readNamedFile(keyFile) }
}

/** Uses a certificate whose files have changed, until the server closes. One that is not valid is logged, and the earlier one stays. */
async function renewCertificate(
  { clock, log, closing }: App,
  server: TunnelServer,
  { everyMs, ...files }: Files & { readonly everyMs: number },
): Promise<void> {
  let used = readCertificate(files)
  for await (const _ of ticks(everyMs, { clock, signal: closing })) {
    await attempt(log, 'certificate of tunnels', async () => {
      const next = readCertificate(files)
      if (next.cert === used.cert && next.key === used.key) return
      server.setCertificate(next)
      used = next
      log.info('the certificate of tunnels has changed')
    })
  }
}

function isForwardedSecure({ headers }: IncomingMessage): boolean {
  const given = headers['x-forwarded-proto']
  return typeof given === 'string' && given.split(',')[0]?.trim() === 'https'
}

/** Clients whose refusal was recorded. A client that is refused tries again each minute. */
const MAX_REFUSED = 10_000

function auditEvents(app: App): NonNullable<Parameters<typeof openTunnelServer>[0]['events']> {
  const refused = new Set<string>()
  return {
    onConnected: (session) => record(app, callOf(session, 'tunnel connected')),
    onEnded: (session) => record(app, callOf(session, 'tunnel closed')),
    async onRefused(hello, why) {
      const key = `${hello.runtime} ${hello.clientId} ${why.code}`
      if (refused.has(key)) return
      if (refused.size >= MAX_REFUSED) refused.clear()
      refused.add(key)
      app.log.warn({ runtime: hello.runtime, address: hello.address, code: why.code }, 'tunnel client refused')
      await recordFailure(app, refusedCall(hello, why), why)
    },
  }
}

async function record(app: App, call: AuditedCall): Promise<void> {
  await app.store.write((tx) => addRecord(tx, app, { call, result: 'done' }))
}

const ACTION = 'GET /v1/tunnel'

function callOf({ id, tokenId, runtime, address, clientVersion }: Session, detail: string): AuditedCall {
  return {
    caller: { kind: 'tunnel', id: tokenId, name: runtime },
    action: ACTION,
    target: `/v1/tunnels/${runtime}`,
    address,
    client: `windlass-tunnel/${clientVersion}`,
    requestId: id,
    detail,
    isRecorded: false,
  }
}

/** The name of a caller that is not authenticated is only what it says. */
function refusedCall({ runtime, address, clientVersion }: Hello, { message }: Fault): AuditedCall {
  return {
    caller: { kind: 'nobody', id: '', name: '' },
    action: ACTION,
    target: `/v1/tunnels/${runtime}`,
    address,
    client: `windlass-tunnel/${clientVersion}`,
    requestId: '',
    detail: message,
    isRecorded: false,
  }
}
