/** Lists of networks in settings. */
import proxyAddr from '@fastify/proxy-addr'

/** Returns a test for addresses in the networks, such as `10.0.0.0/8`, `fd00::/8` or single addresses. Throws `TypeError` for other text. */
export function inNetworks(networks: readonly string[]): (address: string) => boolean {
  const isTrusted = proxyAddr.compile([...networks])
  return (address) => isTrusted(address, 0)
}

/** Returns true if the list can be used with `inNetworks`. */
export function areNetworks(networks: readonly string[]): boolean {
  try {
    inNetworks(networks)
    return true
  } catch {
    return false
  }
}
