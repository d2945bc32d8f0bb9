/** A router with its services on the loopback interface, each over real sockets, and a name server. */
import { silentLog, systemClock } from '@windlass/kit'
import { startService, type Service } from '../../../tunnel/test/support/service.ts'
import { readRouterConfig, startRouter, toRouterOptions, type Router, type RouterOptions } from '../../src/index.ts'
import { startNameServer, type NameServer } from './name-server.ts'

export interface RouterScene extends AsyncDisposable {
  readonly router: Router
  readonly port: number
  readonly appProxy: Service
  readonly workflows: Service
  /** The event source `name` in the namespace `ns`. */
  readonly eventSource: Service
  readonly names: NameServer
  /** Calls that reached any service, by path. */
  seen(): string[]
}

/** The name of the Service of an event source. */
export const hostOf = (name: string, namespace = 'ns'): string => `${name}-eventsource-svc.${namespace}.svc.cluster.local`

/** Returns the number of calls in progress. */
export function callsOf(router: Router): number | undefined {
  return router.metrics().find(({ name }) => name === 'windlass_router_calls')?.samples[0]?.value
}

/** Opens a scene. `env` has settings without their prefix, and `options` replaces what follows from them. */
export async function openRouterScene(
  env: Readonly<Record<string, string>> = {},
  options: Partial<RouterOptions> = {},
): Promise<RouterScene> {
  await using stack = new AsyncDisposableStack()
  const appProxy = stack.use(await startService())
  const workflows = stack.use(await startService())
  const eventSource = stack.use(await startService())
  const names = stack.use(await startNameServer())
  names.set(hostOf('name'), ['127.0.0.1'])
  const settings = {
    HOST: '127.0.0.1',
    PORT: '0',
    APP_PROXY_URL: appProxy.url.href,
    WORKFLOWS_URL: workflows.url.href,
    WEBHOOK_PORT: String(eventSource.port),
    WEBHOOK_NETWORKS: '127.0.0.0/8',
    DNS_SERVERS: names.address,
    ...env,
  }
  const prefixed = Object.fromEntries(Object.entries(settings).map(([key, value]) => [`WINDLASS_ROUTER_${key}`, value]))
  const parts = { clock: systemClock, log: silentLog }
  const router = await startRouter({ ...toRouterOptions(readRouterConfig(prefixed), parts), lingerMs: 0, ...options })
  stack.defer(() => router.close())
  const owned = stack.move()
  return {
    router,
    port: router.port,
    appProxy,
    workflows,
    eventSource,
    names,
    seen: () => [appProxy, workflows, eventSource].flatMap(({ seen }) => seen),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
