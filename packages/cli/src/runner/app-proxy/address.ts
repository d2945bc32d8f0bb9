/** Where browsers reach the app-proxy of a Runner, and the name under which the server knows it. Pure; the chart has the same rules. */
import { createHash } from 'node:crypto'
import { fault } from '@windlass/kit/faults'
import type { InstallValues } from '../values/install-values.ts'
import { mergeTrees, valueAt, type Tree } from '../values/read-values.ts'

/** Secret in the namespace of the Runner with the token of its app-proxy. */
export const APP_PROXY_SECRET = 'app-proxy-token'
/** Name of the objects of the app-proxy that the installer creates. */
export const APP_PROXY_NAME = 'app-proxy'
/** Path below the host, unless the values have another one. */
const PATH_PREFIX = '/app-proxy'
const SLUG_LENGTH = 29
const DIGEST_LENGTH = 8
const HOST = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

/** Returns the name with which the app-proxy is known to the server: readable, and different for each runtime environment. */
export function appProxyNameOf(runtime: string): string {
  const slug = runtime
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, SLUG_LENGTH)
    .replace(/-$/, '')
  const digest = createHash('sha256').update(runtime).digest('hex').slice(0, DIGEST_LENGTH)
  return `${slug === '' ? 'runner' : slug}-${digest}`
}

/** True if the values have an app-proxy, of the installer or of the chart. */
export function wantsAppProxy({ installer, chart }: InstallValues): boolean {
  const enabled = valueAt(chart, ['appProxy', 'enabled'])
  return typeof enabled === 'boolean' ? enabled : installer.AppProxy !== undefined
}

/** Returns the address for browsers that chart values describe; undefined without a host. */
export function appProxyUrlOf(values: Tree): string | undefined {
  const at = (...path: string[]): unknown => valueAt(values, ['appProxy', ...path])
  const isRoute = at('httpRoute', 'enabled') === true
  const hosts = at('httpRoute', 'hostnames')
  const host = isRoute ? (Array.isArray(hosts) ? hosts[0] : undefined) : at('ingress', 'host')
  if (typeof host !== 'string' || host === '') return undefined
  const given = at(isRoute ? 'httpRoute' : 'ingress', 'pathPrefix')
  const prefix = typeof given === 'string' ? given : PATH_PREFIX
  return `https://${host}${prefix.replace(/\/$/, '')}`
}

/** Returns the values of an installer with a checked host. Throws `usage` for a host that browsers would not reach by HTTPS, and without any. */
export function withCheckedHost(values: InstallValues, before: Tree = {}): InstallValues {
  const { AppProxy } = values.installer
  const host = AppProxy?.Ingress?.Host
  if (host === undefined) {
    if (appProxyUrlOf(mergeTrees(before, values.chart)) !== undefined) return values
    throw fault('usage', {
      message: 'The app-proxy has no host.',
      hint: 'Add the host name at which the ingress controller terminates TLS: `--app-proxy-host HOST` of `runner init`, `--host HOST` of `install app-proxy`.',
    })
  }
  const Ingress = { ...AppProxy?.Ingress, Host: requireHost(host) }
  return { ...values, installer: { ...values.installer, AppProxy: { ...AppProxy, Ingress } } }
}

/** Returns a host name without the scheme https. Throws `usage`. */
function requireHost(given: string): string {
  if (/^http:/i.test(given))
    throw fault('usage', {
      message: `Browsers reach the app-proxy by HTTPS only, so its host cannot be ${given}.`,
      hint: 'Configure the ingress controller to terminate TLS for the host, and name the host without a scheme.',
    })
  const host = given
    .replace(/^https:\/\//i, '')
    .replace(/\/$/, '')
    .toLowerCase()
  if (HOST.test(host) && host.length <= 253) return host
  throw fault('usage', {
    message: `"${given}" is not a host name.`,
    hint: 'Name the host without port and path, such as proxy.example.com. The value AppProxy.Ingress.PathPrefix sets another path than /app-proxy.',
  })
}
