/**
 * Which addresses a forge may have. Forges in private networks are allowed: an app-proxy is there for them. Metadata services of clouds are not: they give the
 * credentials of a node to everyone who asks from it.
 */
import { isIP, type LookupFunction } from 'node:net'
import { ADDRESS_BLOCKED, fault, guardedLookup, hasCode, hostOf, type Fault, type ResolveName } from '@windlass/kit'
import { isBlocked } from '@windlass/kit/addresses'

export interface ForgeHosts {
  /** Resolves the name of a forge. Fails for one with an address at which no forge is. */
  readonly lookup: LookupFunction
  /** Throws `request-invalid` for a host at which no forge is. A name is checked when it is resolved. */
  requireForge(url: URL): void
  /** Returns the addresses of a name, none for a host that is an address itself. Throws `forge-unreachable`. */
  addressesOf(url: URL): Promise<readonly string[]>
}

export interface ForgeHostsOptions {
  /** False in a pod, whose loopback addresses are its own. */
  readonly mayUseLoopback: boolean
  /** False in a hosted runtime: the Services of its cluster are those of others. Default: true. */
  readonly mayUseServices?: boolean | undefined
  /** Default: the operating system. */
  readonly resolve?: ResolveName | undefined
}

export function openForgeHosts({ mayUseLoopback, mayUseServices = true, resolve }: ForgeHostsOptions): ForgeHosts {
  const lookup = guardedLookup((address) => isBlocked(address, mayUseLoopback), resolve)

  function requireForge(url: URL): void {
    const host = hostOf(url)
    if (!mayUseServices && isServiceName(host))
      throw fault('request-invalid', {
        message: `${host} is a name of the cluster of the server, which a hosted GitOps runtime does not call.`,
        hint: 'Name a host that other networks know.',
      })
    // Programs differ in whether a name with a dot at its end is the same name, so an address of one might be used for the other.
    if (!host.endsWith('.') && (isIP(host) === 0 || !isBlocked(host, mayUseLoopback))) return
    throw fault('request-invalid', {
      message: `${host} is not an address of a forge.`,
      hint: 'Name the host of the forge.',
    })
  }

  return {
    lookup,
    requireForge,
    async addressesOf(url) {
      requireForge(url)
      const host = hostOf(url)
      if (isIP(host) !== 0) return []
      const { promise, resolve: found, reject } = Promise.withResolvers<readonly string[]>()
      lookup(host, { all: true }, (error, addresses) => {
        if (error !== null) reject(unresolved(host, error))
        else found([addresses].flat().map((entry) => (typeof entry === 'string' ? entry : entry.address)))
      })
      return promise
    },
  }
}

/** Returns true for a name that the DNS of a cluster resolves to its Services and pods, also by its search list. */
function isServiceName(host: string): boolean {
  const name = host.toLowerCase()
  return (isIP(name) === 0 && !name.includes('.')) || /\.(?:svc|pod)(?:\.|$)|\.cluster\.local$/.test(name)
}

/** Returns the fault of a forge that does not answer. Its hint is for who operates the app-proxy. */
export function noAnswer(message: string, cause?: unknown): Fault {
  const hint =
    'Check the URL of the integration, and the network from the cluster of the runtime. For a private certificate authority set WINDLASS_APP_PROXY_FORGE_CA_PATH.'
  return fault('forge-unreachable', { message, hint }, cause)
}

/** Returns the fault of a name that is not resolved. */
export function unresolved(host: string, error: unknown): Fault {
  if (!hasCode(error, ADDRESS_BLOCKED)) return noAnswer(`${host} cannot be resolved.`, error)
  return fault(
    'forge-unreachable',
    {
      message: `${host} has an address at which no forge is, such as that of a metadata service.`,
      hint: 'Check the URL of the integration, and the DNS of the cluster of the runtime.',
    },
    error,
  )
}
