/**
 * Addresses that a check never connects to. Registries and forges in private networks are what agents are for, so these are allowed. Metadata services of
 * clouds are not: they give the credentials of a node to everyone who asks from it.
 */
import { lookup as resolveName } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

type Network = readonly [address: string, prefix: number]

/** This host, link-local and multicast networks, and addresses of metadata services outside of them: Azure, Alibaba Cloud, Oracle Cloud, AWS. */
const BLOCKED: readonly Network[] = [
  ['0.0.0.0', 8],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['192.0.0.192', 32],
  ['224.0.0.0', 3],
  ['::', 128],
  ['64:ff9b::a9fe:0', 112],
  ['fd00:ec2::', 32],
  ['fe80::', 10],
  ['ff00::', 8],
]
const LOOPBACK: readonly Network[] = [
  ['127.0.0.0', 8],
  ['::1', 128],
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

/** Code of the error of a lookup that found such an address. */
export const BLOCKED_CODE = 'ERR_ADDRESS_BLOCKED'

/** Returns true for an address, in any notation, to which a check does not connect. */
export function isBlocked(address: string, mayUseLoopback: boolean): boolean {
  if (isIP(address) === 0 || address.includes('%')) return true
  return blocked.check(address, typeOf(address)) || (!mayUseLoopback && isLoopbackAddress(address))
}

export function isLoopbackAddress(address: string): boolean {
  return isIP(address) !== 0 && loopback.check(address, typeOf(address))
}

/** Resolves a name. Fails if one of its addresses is blocked, so that the connection is made to an address that was checked. */
export function guardedLookup(mayUseLoopback: boolean): LookupFunction {
  return (name, options, done) => {
    resolveName(name, { all: true }, (error, found) => {
      const [first] = found ?? []
      if (error !== null) done(error, '', 4)
      else if (first === undefined || found.some(({ address }) => isBlocked(address, mayUseLoopback)))
        done(Object.assign(new Error(`no address of ${name} is allowed`), { code: BLOCKED_CODE }), '', 4)
      else if (options.all === true) done(null, found)
      else done(null, first.address, first.family)
    })
  }
}
