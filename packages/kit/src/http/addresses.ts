/**
 * Addresses that a program in a cluster never calls for others: for the checks of an agent, and for the callers of a router. Private networks are what these are
 * for, so they are allowed. Metadata services of clouds are not: they give the credentials of a node to everyone who asks from it.
 */
import { BlockList, isIP } from 'node:net'

type Network = readonly [address: string, prefix: number]

/** This host, link-local and multicast networks, and addresses of metadata services outside of them: Azure, Alibaba Cloud, Oracle Cloud. */
const BLOCKED_V4: readonly Network[] = [
  ['0.0.0.0', 8],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['192.0.0.192', 32],
  ['224.0.0.0', 3],
]
/** The same of IPv6, with the metadata services of AWS and Google Cloud, and the networks whose translation is a local matter. */
const BLOCKED_V6: readonly Network[] = [
  ['::', 128],
  ['64:ff9b:1::', 48],
  ['fd20:ce::', 32],
  ['fd00:ec2::', 32],
  ['fe80::', 10],
  ['ff00::', 8],
]
const LOOPBACK: Network = ['127.0.0.0', 8]

/**
 * Networks of IPv6 that contain each address of IPv4, and that a network may translate: NAT64 (RFC 6052), 6to4 (RFC 3056), translated (RFC 2765) and compatible (RFC 4291)
 * addresses. Mapped ones are known to `BlockList`.
 */
const EMBEDDED: readonly ((high: string, low: string) => Network)[] = [
  (high, low) => [`64:ff9b::${high}:${low}`, 96],
  (high, low) => [`2002:${high}:${low}::`, 16],
  (high, low) => [`::ffff:0:${high}:${low}`, 96],
  (high, low) => [`::${high}:${low}`, 96],
]

/** Returns a network of IPv4 with those of IPv6 that contain it. */
function withEmbedded([address, prefix]: Network): Network[] {
  const [one = 0, two = 0, three = 0, four = 0] = address.split('.').map(Number)
  const toHex = (high: number, low: number): string => (high * 256 + low).toString(16)
  const inner = EMBEDDED.map((embed): Network => {
    const [outer, start] = embed(toHex(one, two), toHex(three, four))
    return [outer, start + prefix]
  })
  // `::1` would be in the network of `0.0.0.0/8`.
  return [[address, prefix], ...inner.filter(([outer]) => outer !== '::0:0')]
}

const blocked = toList([...BLOCKED_V4.flatMap(withEmbedded), ...BLOCKED_V6])
const loopback = toList([...withEmbedded(LOOPBACK), ['::1', 128]])

function toList(networks: readonly Network[]): BlockList {
  const list = new BlockList()
  for (const [address, prefix] of networks) list.addSubnet(address, prefix, typeOf(address))
  return list
}

function typeOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** Returns true for an address, in any notation, to which no call leads. */
export function isBlocked(address: string, mayUseLoopback: boolean): boolean {
  if (isIP(address) === 0 || address.includes('%')) return true
  return blocked.check(address, typeOf(address)) || (!mayUseLoopback && isLoopbackAddress(address))
}

export function isLoopbackAddress(address: string): boolean {
  return isIP(address) !== 0 && loopback.check(address, typeOf(address))
}
