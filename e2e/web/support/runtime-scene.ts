/** The GitOps runtime `prod` of a server: a real tunnel client, router and app-proxy, at a cluster that is played. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAppProxy } from '@windlass/app-proxy'
import { nodeTransport, proxyFrom, silentLog, systemClock } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import type { EventsAnswer } from '@windlass/protocol'
import { readRouterConfig, startRouter, toRouterOptions } from '@windlass/router'
import { startTunnelClient } from '@windlass/tunnel/client'
import { event, openReporter } from '../../../packages/server/test/support/fakes/application-reporter.ts'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { ARGO_TOKEN, NAMESPACE, startArgoCluster, type ArgoCluster } from './argo-cluster.ts'

/** Settings of a server with tunnels. A connection ends for what a test does, and not because the machine pauses. */
export const TUNNELS = { domain: 'tunnels.test', port: 0, timings: { heartbeatMs: 200, deadMs: 60_000 } } as const

export interface RuntimeScene extends AsyncDisposable {
  readonly cluster: ArgoCluster
  /** Reports an application as the cluster has it. */
  report(name: string): Promise<EventsAnswer>
  /** Reports an object. */
  reportObject(object: object): Promise<EventsAnswer>
  /** Ends the connection. */
  disconnect(): Promise<void>
  /** Connects, and resolves when the server knows it. */
  connect(): Promise<void>
}

export async function openRuntimeScene(server: HttpScene): Promise<RuntimeScene> {
  await using opening = new AsyncDisposableStack()
  const { token } = await server.admin.gitopsRuntimes.createToken('prod')
  const folder = mkdtempSync(join(tmpdir(), 'windlass-runtime-'))
  opening.defer(() => rmSync(folder, { recursive: true, force: true }))
  const [tokenFile, argoTokenFile] = [join(folder, 'token'), join(folder, 'argo-token')]
  writeFileSync(tokenFile, token)
  writeFileSync(argoTokenFile, ARGO_TOKEN)
  const cluster = opening.use(await startArgoCluster())
  const kube = openKube({ access: { server: cluster.url, insecure: false, namespace: NAMESPACE }, log: silentLog })
  opening.defer(() => kube.close())
  const parts = { clock: systemClock, log: silentLog }
  const proxy = opening.use(
    await startAppProxy({
      ...parts,
      port: 0,
      server: { url: server.server.url, transport: nodeTransport({ connectMs: 5_000 }) },
      runtime: 'prod',
      accountId: server.server.app.accountId,
      tokenFile,
      storeIv: 'the random text of this test',
      origins: [server.server.url],
      kube,
      namespace: NAMESPACE,
      argo: { server: { url: cluster.url, transport: nodeTransport({ connectMs: 5_000 }) }, tokenFile: argoTokenFile },
      proxy: proxyFrom({}),
      mayUseLoopback: true,
      workFolder: folder,
      lingerMs: 0,
      environment: process.env,
      version: '1.2.3',
    }),
  )
  const settings = { HOST: '127.0.0.1', PORT: '0', APP_PROXY_URL: proxy.url }
  const prefixed = Object.fromEntries(Object.entries(settings).map(([key, value]) => [`WINDLASS_ROUTER_${key}`, value]))
  const router = await startRouter({ ...toRouterOptions(readRouterConfig(prefixed), parts), lingerMs: 0 })
  opening.defer(() => router.close())
  const start = () =>
    startTunnelClient({
      ...parts,
      server: new URL(`http://localhost:${server.server.tunnelPort}`),
      runtime: 'prod',
      tokenFile,
      router: new URL(`http://127.0.0.1:${router.port}`),
      prefixes: ['/app-proxy'],
      version: '1.2.3',
      proxy: proxyFrom({}),
    })
  const statusIs = async (status: string): Promise<void> => {
    while ((await server.admin.tunnels.get('prod')).status !== status) await systemClock.sleep(20)
  }
  let client = start()
  opening.defer(() => client.close())
  await statusIs('online')
  const send = openReporter(server, token)
  const opened = opening.move()
  return {
    cluster,
    report: (name) => send({ data: [event(cluster.get(name), Date.now())] }),
    reportObject: (object) => send({ data: [event(object, Date.now())] }),
    async disconnect() {
      await client.close()
      await statusIs('offline')
    },
    async connect() {
      client = start()
      await statusIs('online')
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
