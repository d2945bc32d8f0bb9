/**
 * Starts a control plane inside this process: store, sweeps, HTTP. `main.ts` uses it in a container, `windlass up` and tests on one machine.
 * Not here: the parts of the server (`app.ts`), settings from the environment (`config.ts`).
 */
import { join } from 'node:path'
import { serveProbes, type ProbeServer } from '@windlass/kit'
import type { FastifyInstance } from 'fastify'
import type { App } from './app.ts'
import { readAssets } from './http/assets.ts'
import { readPage } from './http/page.ts'
import { openHttp } from './http/http-server.ts'
import { noteBreak } from './builds/engine/hearing.ts'
import { allRoutes } from './http/routes.ts'
import { prepareBootstrap } from './identity/sessions/bootstrap-code.ts'
import { openAuthenticator } from './identity/authenticate.ts'
import { listenForTunnels, type TunnelListener } from './gitops/tunnels.ts'
import { noteKeyUse } from './identity/keys/first-key.ts'
import { openKeyUses } from './identity/keys/key-use.ts'
import { openApp, type OpenApp } from './open-app.ts'
import type { ServerOptions } from './settings.ts'

/** Files for browsers. */
const ASSETS = join(import.meta.dirname, 'http/public')

export interface RunningServer {
  /** Base URL for clients of this machine, without `/v1`. */
  readonly url: string
  /** Port of the listener for tunnels; undefined without one. */
  readonly tunnelPort: number | undefined
  /** The shared parts of the server, for tests in the same process. */
  readonly app: App
  /** Stops listening, ends held calls and closes the store, within 5 s, or 25 s while it renews a token. Safe to call twice. */
  close(): Promise<void>
}

/**
 * Opens the store, applies migrations and listens. Throws `store-locked` if another server uses the folder, `config-invalid` if the master key
 * does not match the database or the folder is on a network file system, and `unavailable` if PostgreSQL cannot be reached.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  let url = ''
  const { app, stop, close } = await openApp(options, () => options.advertisedUrl?.replace(/\/+$/, '') ?? url)
  let metrics: ProbeServer | undefined
  let tunnels: TunnelListener | undefined
  try {
    await prepareBootstrap(app)
    const authenticator = openAuthenticator(app.store.query, app.vault, (id) => noteKeyUse(app, id), openKeyUses(app))
    const page = app.hasPage ? readPage(options.pageFolder) : undefined
    // The page has its own sign-in.
    const assets = readAssets(ASSETS).filter(({ path }) => page?.isBuilt !== true || path !== 'signin.html')
    metrics = await listenForMetrics(app, options)
    // Before the other port, which nothing would close if this one cannot be used.
    if (options.tunnels !== undefined) tunnels = await listenForTunnels(app, options.tunnels, options.trustedProxies)
    const http = openHttp(app, {
      tls: options.tls,
      trustedProxies: options.trustedProxies,
      authenticator,
      routes: allRoutes(app, authenticator, tunnels?.call),
      assets,
      page,
    })
    url = toLocalUrl(await http.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 }), options.host)
    // Sweeps already run, but no engine or agent could call before the server listened.
    noteBreak(app)
    app.log.info({ url, store: app.store.name }, 'server listens')
    const end = async (): Promise<void> => {
      await metrics?.[Symbol.asyncDispose]()
      await shutDown({ http, tunnels }, { stop, close })
    }
    let closed: Promise<void> | undefined
    return { url, tunnelPort: tunnels?.port, app, close: () => (closed ??= end()) }
  } catch (error) {
    await tunnels?.close()
    await metrics?.[Symbol.asyncDispose]()
    await close()
    throw error
  }
}

/** Serves the metrics without authentication; only Prometheus should be able to reach the port. */
async function listenForMetrics(app: App, { metricsPort }: ServerOptions): Promise<ProbeServer | undefined> {
  if (metricsPort === undefined) return undefined
  return serveProbes(metricsPort, async (path) =>
    path === '/metrics' ? { status: 200, body: await app.metricsPage() } : undefined,
  )
}

/** Replaces a wildcard address by the loopback address, because clients cannot call a wildcard address. */
function toLocalUrl(listening: string, host: string | undefined): string {
  if (host !== '0.0.0.0' && host !== '::') return listening
  const { protocol, port } = new URL(listening)
  return `${protocol}//127.0.0.1:${port}`
}

/** Calls still in progress after this time are cut off. Milliseconds. */
const CLOSE_MS = 4000

interface Listeners {
  readonly http: FastifyInstance
  readonly tunnels: TunnelListener | undefined
}

/** Held calls end by themselves once `stop` is called. Then the sockets close, then the store. */
async function shutDown({ http, tunnels }: Listeners, { stop, close }: Pick<OpenApp, 'stop' | 'close'>): Promise<void> {
  stop()
  const cut = setTimeout(() => http.server.closeAllConnections(), CLOSE_MS)
  await Promise.all([http.close(), tunnels?.close()])
  clearTimeout(cut)
  await close()
}
