/**
 * Addresses that a program in a cluster never calls for others: for the checks of an agent, and for the callers of a router. Private networks are what these are
 * for, so they are allowed. Metadata services of clouds are not: they give the credentials of a node to everyone who asks from it.
 */
import { BlockList, isIP } from 'node:net'

type Network = readonly [address: string, prefix: number]

/**
 * This host, link-local and multicast networks, and addresses of metadata services outside of them: Azure, Alibaba Cloud, Oracle Cloud, AWS, Google
 * Cloud. A network may translate addresses of IPv6 that contain one of IPv4.
 */
const BLOCKED: readonly Network[] = [
  ['0.0.0.0', 8],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['192.0.0.192', 32],
  ['224.0.0.0', 3],
  ['::', 128],
  ['::a9fe:0', 112],
  ['64:ff9b::a9fe:0', 112],
  ['64:ff9b:1::', 48],
  ['2002:a9fe::', 32],
  ['fd20:ce::', 32],
  ['fd00:ec2::', 32],
  ['fe80::', 10],
  ['ff00::', 8],
]
const LOOPBACK: readonly Network[] = [
  ['127.0.0.0', 8],
  ['::1', 128],
  ['64:ff9b::7f00:0', 104],
  ['2002:7f00::', 24],
]

const blocked = toList(BLOCKED)
const loopback = toList(LOOPBACK)

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
