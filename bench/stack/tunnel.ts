/** A server with tunnels, a client and a router, each as a process. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { openClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { firstAdmin } from '../../e2e/support/first-admin.ts'
import { freePort, startService, type Service } from '../../e2e/support/process.ts'
import { NODE, programFile, WINDLASS } from '../../e2e/support/programs.ts'

export interface TunnelStack extends AsyncDisposable {
  /** Port of the server for callers. */
  readonly port: number
  /** Host of the runtime. */
  readonly host: string
  readonly routerPort: number
  /** Starts a client that connects to a port, and waits until it is called. */
  startClient(port?: number): Promise<Service>
  /** Starts a process that downloads a gigabyte through the tunnel again and again. */
  startDownload(): Promise<Service>
  /** Makes a call through the tunnel. Returns its status. */
  call(): Promise<number>
}

const portIn = (log: string): number => Number(/ready (\d+)/.exec(log)?.[1] ?? 0)

export async function openTunnelStack(): Promise<TunnelStack> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-bench-'))
  const services: Service[] = []
  const start = async (service: Promise<Service>): Promise<Service> => {
    services.push(await service)
    return service
  }
  const [apiPort, port] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${apiPort}`
  await start(
    startService({
      command: NODE,
      args: [programFile('server')],
      env: {
        WINDLASS_SERVER_DATA_DIR: folder,
        WINDLASS_SERVER_HOST: '127.0.0.1',
        WINDLASS_SERVER_PORT: String(apiPort),
        WINDLASS_SERVER_MIN_FREE_PERCENT: '0',
        WINDLASS_SERVER_TUNNEL_DOMAIN: 'tunnels.test',
        WINDLASS_SERVER_TUNNEL_PORT: String(port),
        WINDLASS_SERVER_TUNNEL_CALLS_PER_SECOND: '1000000',
      },
      ready: (log) => log.includes('listens for tunnels') && log.includes('server listens'),
    }),
  )
  const router = await start(
    startService({
      command: NODE,
      args: [join(import.meta.dirname, 'tunnel-router.ts')],
      ready: (log) => portIn(log) > 0,
    }),
  )
  const routerPort = portIn(router.log())
  const { token: key } = await openClient({ url, transport: nodeTransport() }).server.bootstrap(await firstAdmin(folder))
  const created = await openClient({ url, token: key, transport: nodeTransport() }).gitopsRuntimes.createToken('bench')
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, created.token)
  const { host } = new URL(created.url ?? '')
  const call = (): Promise<number> => callOnce(port, host)
  return {
    port,
    host,
    routerPort,
    call,
    startClient: (to = port) =>
      start(
        startService({
          command: WINDLASS,
          args: ['tunnel', 'run'],
          env: {
            WINDLASS_TUNNEL_SERVER_URL: `http://127.0.0.1:${to}`,
            WINDLASS_TUNNEL_RUNTIME: 'bench',
            WINDLASS_TUNNEL_TOKEN_PATH: tokenFile,
            WINDLASS_TUNNEL_ROUTER_URL: `http://127.0.0.1:${routerPort}`,
          },
          ready: async () => (await call()) === 200,
        }),
      ),
    startDownload: () =>
      start(
        startService({
          command: NODE,
          args: [join(import.meta.dirname, 'tunnel-download.ts'), String(port), host],
          ready: (log) => portIn(log) > 0,
        }),
      ),
    async [Symbol.asyncDispose]() {
      for (const service of services.toReversed()) await service.stop('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Makes a call on a connection of its own. Returns its status. */
export async function callOnce(port: number, host: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const call = request({ host: '127.0.0.1', port, path: '/app-proxy/small', headers: { host }, agent: false })
  call.on('response', (response) => void buffer(response).then(() => resolve(response.statusCode ?? 0), reject))
  call.on('error', reject)
  call.end()
  return promise
}
