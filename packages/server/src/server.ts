/**
 * Starts a control plane inside this process: store, sweeps, HTTP. `main.ts` does it for a container, `windlass up` and tests for a laptop.
 * Not here: what is put together (`app.ts`), settings from the environment (`config.ts`).
 */
import type { Clock, Logger } from '@windlass/kit'
import type { FastifyInstance } from 'fastify'
import type { App } from './app.ts'
import type { ServerLogLimits } from './builds/limits.ts'
import { openHttp } from './http/http-server.ts'
import { allRoutes } from './http/routes.ts'
import { openAuthenticator } from './identity/authenticate.ts'
import { openApp, type OpenApp } from './open-app.ts'

/** All but `dataDir` may be left out. */
export interface ServerOptions {
  /** Folder of the database (SQLite), log chunks, master key and first-admin token; made with mode 0700 when absent. */
  readonly dataDir: string
  /** `postgres://…`: use PostgreSQL, which several servers may share (they share `dataDir` for chunks, too). SQLite when absent. */
  readonly databaseUrl?: string | undefined
  /** Address to listen on; 127.0.0.1 when absent. */
  readonly host?: string | undefined
  /** 0 or absent: any free port. */
  readonly port?: number | undefined
  /** Base URL that agents, engines and users reach this server at; made of host and port when absent. */
  readonly advertisedUrl?: string | undefined
  /** PEM files. `caFile`: what pods must trust when no public authority signed the certificate. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly caFile?: string | undefined } | undefined
  /** Base64 of 32 bytes; kept in `<dataDir>/master.key` when absent. */
  readonly masterKey?: string | undefined
  readonly clock?: Clock | undefined
  readonly log?: Logger | undefined
  readonly timings?: Partial<Timings> | undefined
  readonly retention?: Partial<Retention> | undefined
  /** Hosts that documents behind URLs may be fetched from, whatever their address. Any host when absent, but no loopback or link-local address. */
  readonly documentHosts?: readonly string[] | undefined
  /** Below this share of free disk (0 to 1) no new builds are taken; 0.05 when absent. */
  readonly minFreeShare?: number | undefined
  /** Most bytes of log of any step and any build; what runtime environments and pipelines allow beyond does not count. */
  readonly logLimits?: ServerLogLimits | undefined
}

/** Every period the server decides by. Milliseconds; tests and chaos runs shorten them. */
export interface Timings {
  /** How often an engine reports; it becomes suspect and then dead after these silences. */
  readonly heartbeatMs: number
  readonly suspectMs: number
  readonly deadMs: number
  /** An agent not heard of for this long is offline. */
  readonly agentLeaseMs: number
  /** A task handed out and not acknowledged in time is handed out again. */
  readonly taskLeaseMs: number
  /** How often leases and limits are looked at. */
  readonly sweepMs: number
  /** Longest `terminating`, and longest without a sign of the engine. */
  readonly terminatingMs: number
  readonly terminatingSilentMs: number
  /** Delay before a failed task is handed out again; doubles up to a minute. */
  readonly taskBackoffMs: number
}

/** How long things are kept. Days. */
export interface Retention {
  readonly buildDays: number
  readonly logDays: number
  readonly taskDays: number
  readonly idempotencyHours: number
}

export interface RunningServer {
  /** Base URL for clients of this machine, without `/v1`. */
  readonly url: string
  /** The rooms of the server, for tests in the same process. */
  readonly app: App
  /** Stops listening, ends held calls, closes the store; under 5 s. Safe to call twice. */
  close(): Promise<void>
}

/**
 * Opens the store, applies migrations, listens. Throws `store-locked` when another server has the folder, `config-invalid` when the master
 * key does not fit the database or the folder is on a network file system, `unavailable` without PostgreSQL.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  let url = ''
  const { app, stop, close } = await openApp(options, () => options.advertisedUrl?.replace(/\/+$/, '') ?? url)
  try {
    const authenticator = openAuthenticator(app.store.query, app.vault)
    const http = openHttp(app, { tls: options.tls, authenticator, routes: allRoutes(app, authenticator) })
    url = toLocalUrl(await http.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 }), options.host)
    app.log.info({ url, store: app.store.name }, 'server listens')
    let closed: Promise<void> | undefined
    return { url, app, close: () => (closed ??= shutDown(http, { stop, close })) }
  } catch (error) {
    await close()
    throw error
  }
}

/** An address of all interfaces is no address to call. */
function toLocalUrl(listening: string, host: string | undefined): string {
  if (host !== '0.0.0.0' && host !== '::') return listening
  const { protocol, port } = new URL(listening)
  return `${protocol}//127.0.0.1:${port}`
}

/** After this, calls that are still going on are cut. Milliseconds. */
const CLOSE_MS = 4000

/** Held calls end by themselves once the loops are told to; then sockets, then the store. */
async function shutDown(http: FastifyInstance, { stop, close }: Pick<OpenApp, 'stop' | 'close'>): Promise<void> {
  stop()
  const cut = setTimeout(() => http.server.closeAllConnections(), CLOSE_MS)
  await http.close()
  clearTimeout(cut)
  await close()
}
