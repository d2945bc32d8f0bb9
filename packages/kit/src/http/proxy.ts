/** Selects the proxy of a call from the standard environment variables. */
import { BlockList, isIP } from 'node:net'
import { fault } from '../faults.ts'
import { withoutBrackets } from './host.ts'
import { isSocks } from './socks.ts'

export interface ProxySettings {
  /** Proxies for `http:` and `https:` URLs. They may contain a user name and password. */
  readonly http?: string | undefined
  readonly https?: string | undefined
  /** Returns true for a host that is reached without a proxy. */
  readonly isDirect: (host: string, port: number) => boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/** Never reached through a proxy: this machine, services of the cluster and the metadata services of clouds, which know only their own node. */
const LOCAL = ['localhost', '127.0.0.0/8', '::1', '.svc', '.svc.cluster.local']
const METADATA_SERVICES = ['169.254.0.0/16', 'fd00:ec2::/32', 'metadata.google.internal']
const ALWAYS_DIRECT = [...LOCAL, ...METADATA_SERVICES]

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` (for the ones that are absent) and `NO_PROXY`, in upper or lower case (lower case wins, as in
 * curl). A proxy is `http:`, `https:`, or `socks5:` (same as `socks5h:`). `NO_PROXY` is a comma-separated
 * list of hosts, suffixes (`.example.com`, `*.example.com`, or `example.com` for the host and its subdomains), addresses and CIDR ranges, or
 * `*`. Hosts may have a port. The API server of the pod's own cluster, `.svc` and metadata services of clouds are always included. Throws
 * `config-invalid` for a proxy URL with another scheme.
 */
export function proxyFrom(env: Environment): ProxySettings {
  // ALL_PROXY is parsed only if it is needed, because desktops set it to values of other programs.
  const ofScheme = (name: string): string | undefined => proxyUrl(env, name) ?? proxyUrl(env, 'ALL_PROXY')
  const [http, https] = [ofScheme('HTTP_PROXY'), ofScheme('HTTPS_PROXY')]
  const list = (read(env, 'NO_PROXY') ?? '').split(/[\s,]+/).filter((item) => item !== '')
  const api = env['KUBERNETES_SERVICE_HOST']
  return { http, https, isDirect: directHosts([...ALWAYS_DIRECT, ...(api === undefined ? [] : [api]), ...list]) }
}

function read(env: Environment, name: string): string | undefined {
  return [env[name.toLowerCase()], env[name]].find((value) => value !== undefined && value !== '')
}

/** Returns the proxy URL of a variable. The error message does not contain the value, which may hold a password. */
function proxyUrl(env: Environment, name: string): string | undefined {
  const value = read(env, name)
  if (value === undefined) return undefined
  const text = value.includes('://') ? value : `http://${value}`
  const url = URL.parse(text)
  if (url !== null && (/^https?:$/.test(url.protocol) || (isSocks(text) && url.hostname !== ''))) return text
  throw fault('config-invalid', {
    message: `${name} is not the URL of an HTTP or SOCKS 5 proxy.`,
    hint: 'Use the form `http://host:port` or `socks5://host:port`.',
  })
}

function directHosts(items: readonly string[]): ProxySettings['isDirect'] {
  const ranges = new BlockList()
  const names: { name: string; port: number | undefined }[] = []
  for (const item of items) {
    const [address = '', prefix] = item.split('/')
    const family = isIP(address)
    const bits = Number(prefix)
    const isRange = prefix !== undefined && bits >= 0 && bits <= (family === 4 ? 32 : 128)
    if (family !== 0 && isRange) ranges.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6')
    else if (family !== 0) ranges.addAddress(address, family === 4 ? 'ipv4' : 'ipv6')
    else {
      const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(item.toLowerCase()) ?? []
      names.push({ name: name.replace(/^\*\./, '.'), port: port === undefined ? undefined : Number(port) })
    }
  }
  return (given, port) => {
    const host = withoutBrackets(given.toLowerCase()).replace(/\.$/, '')
    const family = isIP(host)
    if (family !== 0 && ranges.check(host, family === 4 ? 'ipv4' : 'ipv6')) return true
    return names.some((item) => (item.port === undefined || item.port === port) && matches(host, item.name))
  }
}

function matches(host: string, name: string): boolean {
  if (name === '*') return true
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`)
}

/** Returns the proxy for a URL, or undefined for a direct call. */
export function proxyOf(url: URL, settings: ProxySettings): string | undefined {
  const isTls = url.protocol === 'https:'
  const proxy = isTls ? settings.https : settings.http
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port)
  return proxy === undefined || settings.isDirect(url.hostname, port) ? undefined : proxy
}
