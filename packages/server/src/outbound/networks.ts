/** The addresses that the server may call for users: public ones, and those that a setting allows. */
import { BlockList, isIP } from 'node:net'
import { fault } from '@windlass/kit'

/** IPv4 ranges that are not public (IANA special-purpose registry), and public addresses that cloud providers use for metadata services. */
const SPECIAL_4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]
/** Ranges inside 2000::/3 that are not public: Teredo and other protocol ranges, documentation, 6to4. */
const SPECIAL_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']
/** Range of all public IPv6 addresses. IPv4 in IPv6, NAT64, loopback, private and link-local addresses are outside. */
const PUBLIC_6 = ['2000::/3']

const special = openNetworks([...SPECIAL_4, ...SPECIAL_6])
const global = openNetworks(PUBLIC_6)

interface Network {
  readonly address: string
  readonly prefix: number
  readonly type: 'ipv4' | 'ipv6'
}

function readNetwork(text: string): Network | undefined {
  const [address = '', length, ...more] = text.split('/')
  const family = isIP(address)
  const bits = family === 4 ? 32 : 128
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : NaN
  if (family === 0 || more.length > 0 || !(prefix <= bits)) return undefined
  return { address, prefix, type: family === 4 ? 'ipv4' : 'ipv6' }
}

/** True if the text is a network such as `10.1.0.0/16`, `fd00:1::/32` or a single address. */
export function isNetwork(text: string): boolean {
  return readNetwork(text) !== undefined
}

/** Parses a list of networks. Throws `config-invalid` for an invalid network. */
export function openNetworks(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of networks) {
    const network = readNetwork(text)
    if (network === undefined)
      throw fault('config-invalid', {
        message: `"${text}" is not a network.`,
        hint: 'Use the form 10.1.0.0/16.',
      })
    list.addSubnet(network.address, network.prefix, network.type)
  }
  return list
}

/** True for an address that the server may not call, in any notation. `open` are allowed networks besides public ones. */
export function isRefused(address: string, open?: BlockList): boolean {
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return true
  const type = family === 6 ? 'ipv6' : 'ipv4'
  if (open?.check(address, type) === true) return false
  return special.check(address, type) || (family === 6 && !global.check(address, type))
}
