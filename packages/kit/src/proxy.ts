/** Which proxy a call goes through, by the variables that everybody else reads too. */
import { BlockList, isIP } from 'node:net'
import { fault } from './faults.ts'

export interface ProxySettings {
  /** Proxy of calls to `http:` and to `https:`; may carry a name and a password. */
  readonly http?: string | undefined
  readonly https?: string | undefined
  /** True for a host that is reached directly. */
  readonly isDirect: (host: string, port: number) => boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/** Never behind a proxy: this machine, and services of the cluster. */
const ALWAYS_DIRECT = ['localhost', '127.0.0.0/8', '::1', '.svc', '.svc.cluster.local']

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, in capitals or not (small letters win, as curl has it). `NO_PROXY` is a comma list of
 * hosts, suffixes (`.example.com`, `*.example.com`, or `example.com` for it and all below), addresses, CIDR ranges, each with an optional
 * port, or `*`. The API server of the pod's own cluster and `.svc` need not be named. Throws `config-invalid` for a URL of another kind.
 */
export function proxyFrom(env: Environment): ProxySettings {
  const [http, https] = [proxyUrl(env, 'HTTP_PROXY'), proxyUrl(env, 'HTTPS_PROXY')]
  const list = (read(env, 'NO_PROXY') ?? '').split(/[\s,]+/).filter((item) => item !== '')
  const api = env['KUBERNETES_SERVICE_HOST']
  return { http, https, isDirect: directHosts([...ALWAYS_DIRECT, ...(api === undefined ? [] : [api]), ...list]) }
}

function read(env: Environment, name: string): string | undefined {
  return [env[name.toLowerCase()], env[name]].find((value) => value !== undefined && value !== '')
}

/** The value is not repeated in the fault: it may hold a password. */
function proxyUrl(env: Environment, name: string): string | undefined {
  const value = read(env, name)
  if (value === undefined) return undefined
  const text = value.includes('://') ? value : `http://${value}`
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text
  throw fault('config-invalid', { message: `${name} is not the URL of an HTTP proxy.`, hint: 'Write http://host:port.' })
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
    const host = given
      .toLowerCase()
      .replace(/^\[|\]$/g, '')
      .replace(/\.$/, '')
    const family = isIP(host)
    if (family !== 0 && ranges.check(host, family === 4 ? 'ipv4' : 'ipv6')) return true
    return names.some((item) => (item.port === undefined || item.port === port) && matches(host, item.name))
  }
}

function matches(host: string, name: string): boolean {
  if (name === '*') return true
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`)
}

/** The proxy of a URL, or undefined for a direct call. */
export function proxyOf(url: URL, settings: ProxySettings): string | undefined {
  const isTls = url.protocol === 'https:'
  const proxy = isTls ? settings.https : settings.http
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port)
  return proxy === undefined || settings.isDirect(url.hostname, port) ? undefined : proxy
}
