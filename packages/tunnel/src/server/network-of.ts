/** Which addresses count as one caller. */
import { isIPv6 } from 'node:net'

/**
 * Returns what limits count: an address of IPv4, also for one that is mapped into IPv6 (RFC 4291, 2.5.5.2), and the /64 of an address of IPv6. A single host has a
 * whole /64 to call from (RFC 4291, 2.5.4). Other text stays as it is.
 */
export function networkOf(address: string): string {
  // A zone says which interface of this machine leads to a link-local address.
  const [plain = ''] = address.split('%')
  if (!isIPv6(plain)) return address
  const groups = groupsOf(plain)
  const [high = 0, low = 0] = groups.slice(6)
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  if (isMapped) return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
  const network = groups.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

/** Returns the eight groups of an address. */
function groupsOf(address: string): number[] {
  // The URL parser writes every form of IPv6 in hexadecimal groups, with at most one `::`.
  const [left = '', right = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const before = numbersOf(left)
  const after = numbersOf(right)
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
}

function numbersOf(groups: string): number[] {
  return groups === '' ? [] : groups.split(':').map((group) => Number.parseInt(group, 16))
}
