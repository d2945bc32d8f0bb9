/** Settings of a router, from `WINDLASS_ROUTER_*` or options of the command. */
import { promises as dns } from 'node:dns'
import { readConfig, readNamedFile, splitList } from '@windlass/kit'
import { isBlocked } from '@windlass/kit/addresses'
import { LogLevel, Port } from '@windlass/kit/settings'
import { z } from 'zod'
import { areNetworks, inNetworks } from './networks.ts'
import type { RouterOptions } from './router.ts'
import { LABEL } from './routes.ts'

const Count = z.coerce.number().int().positive()
const NETWORKS = 'must be addresses or networks such as 10.1.0.0/16, separated by commas'

/** A path of the URL would have no effect, and a login would not be sent. */
const urlOf = (option: string) =>
  z
    .url({ protocol: /^https?$/, error: `must be an http:// or https:// URL (${option})` })
    .refine((text) => isBare(URL.parse(text)), `must have only a protocol, a host and a port (${option})`)
const toUrl = (text: string): URL => new URL(text)

function isBare(url: URL | null): boolean {
  if (url === null) return true
  const { pathname, search, hash, username, password } = url
  return pathname === '/' && [search, hash, username, password].every((part) => part === '')
}

export const RouterConfig = z.object({
  HOST: z.string().optional().describe('Address to listen on; all addresses if absent.'),
  PORT: Port.default(8080).describe('Port to listen on; 0 selects a free port.'),
  METRICS_PORT: Port.optional().describe(
    'Port for /metrics, /healthz and /readyz, which callers do not reach; not served if absent.',
  ),
  APP_PROXY_URL: urlOf('--app-proxy-url')
    .default('http://cap-app-proxy:3017')
    .transform(toUrl)
    .describe('Where the app-proxy listens. It gets /app-proxy, with this prefix.'),
  WORKFLOWS_URL: urlOf('--workflows-url')
    .transform(toUrl)
    .optional()
    .describe(
      'Where the Argo server listens, such as http://argo-server:2746. It gets /workflows/, without this prefix. Absent: not enabled.',
    ),
  WORKFLOWS_INSECURE: z
    .stringbool()
    .default(false)
    .describe('Accepts any certificate of the Argo server, which makes a new one at each start.'),
  CA_PATH: z
    .string()
    .optional()
    .describe('PEM file with the certificate authorities of services with TLS, besides the default ones.'),
  WEBHOOK_NAMESPACES: z
    .string()
    .transform(splitList)
    .refine(
      (list) => list.every((name) => LABEL.test(name)),
      'must be names of namespaces, separated by commas (--webhook-namespaces)',
    )
    .optional()
    .describe('Namespaces whose event sources get webhooks, separated by commas; all if absent.'),
  WEBHOOK_NETWORKS: z
    .string()
    .transform(splitList)
    .refine(areNetworks, NETWORKS)
    .optional()
    .describe(
      'Networks of the cluster to which names of event sources may lead, separated by commas. Absent: all addresses except loopback ones. Link-local and multicast addresses and metadata services of clouds are always refused.',
    ),
  WEBHOOK_PORT: Port.default(80).describe('Port of the Services of event sources.'),
  CLUSTER_DOMAIN: z
    .string()
    .refine((text) => text.split('.').every((label) => LABEL.test(label)), 'must be a domain such as cluster.local')
    .default('cluster.local')
    .describe('Domain of the cluster, in the names of the Services of event sources.'),
  DNS_SERVERS: z
    .string()
    .transform(splitList)
    .refine(areNameServers, 'must be addresses such as 10.96.0.10 or 10.96.0.10:53, separated by commas')
    .optional()
    .describe('Name servers that resolve these names, separated by commas; those of the pod if absent.'),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform(splitList)
    .refine(areNetworks, NETWORKS)
    .describe(
      'Addresses and networks of the ingress controller or the tunnel client, separated by commas. Their X-Forwarded-* are passed on; those of all others are replaced.',
    ),
  CALLS: Count.default(1_000).describe('Calls in progress at the same time.'),
  IDLE_SECONDS: Count.default(300).describe('Seconds without any bytes after which a call ends.'),
  DRAIN_SECONDS: Count.default(25).describe('Seconds for calls in progress when the router stops.'),
  LOG_LEVEL: LogLevel,
})
export type RouterConfig = z.output<typeof RouterConfig>

function areNameServers(servers: readonly string[]): boolean {
  try {
    new dns.Resolver().setServers(servers)
    return servers.length > 0
  } catch {
    return false
  }
}

/** Reads the settings. Throws `config-invalid` that lists every invalid key. */
export function readRouterConfig(env: Readonly<Record<string, string | undefined>>): Readonly<RouterConfig> {
  return readConfig(RouterConfig, env, 'WINDLASS_ROUTER_')
}

/** Returns the test for addresses of event sources. A list of networks can contain loopback addresses, and never metadata services. */
function allowanceOf(networks: readonly string[] | undefined): (address: string) => boolean {
  if (networks === undefined) return (address) => !isBlocked(address, false)
  const isListed = inNetworks(networks)
  return (address) => isListed(address) && !isBlocked(address, true)
}

/** Returns the options of the router. Throws `config-invalid` for a file that cannot be read. */
export function toRouterOptions(config: RouterConfig, { clock, log }: Pick<RouterOptions, 'clock' | 'log'>): RouterOptions {
  const ca = config.CA_PATH === undefined ? undefined : readNamedFile(config.CA_PATH)
  return {
    host: config.HOST,
    port: config.PORT,
    appProxy: { url: config.APP_PROXY_URL, ca },
    workflows:
      config.WORKFLOWS_URL === undefined ? undefined : { url: config.WORKFLOWS_URL, ca, isInsecure: config.WORKFLOWS_INSECURE },
    eventSources: {
      namespaces: config.WEBHOOK_NAMESPACES,
      isAllowed: allowanceOf(config.WEBHOOK_NETWORKS),
      clusterDomain: config.CLUSTER_DOMAIN,
      port: config.WEBHOOK_PORT,
      nameServers: config.DNS_SERVERS ?? [],
    },
    isTrusted: inNetworks(config.TRUSTED_PROXIES),
    calls: config.CALLS,
    idleMs: config.IDLE_SECONDS * 1_000,
    drainMs: config.DRAIN_SECONDS * 1_000,
    clock,
    log,
  }
}
