/**
 * Where the server may connect to for a URL of a user: public addresses, and those that settings allow, to prevent server-side request forgery (SSRF). The
 * connection is made to the address that was checked.
 */
import { isIP, type BlockList } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { guardedLookup, hostOf, type HttpCall } from '@windlass/kit'
import { isRefused } from './networks.ts'

export interface AddressPolicy {
  /** Hosts that are allowed whatever their address. */
  readonly hosts: readonly string[]
  /** Networks that are allowed although they are not public. */
  readonly networks?: BlockList
}

/** Returns true if the policy names the host of the URL. */
export function isNamedHost(url: URL, { hosts }: AddressPolicy): boolean {
  return hosts.some((host) => host.toLowerCase() === hostOf(url).toLowerCase())
}

/** Returns the address of a call. Undefined if the URL contains an address that is not allowed. A name is checked when it is resolved. */
export function guardedAddress(url: URL, policy: AddressPolicy): HttpCall['to'] | undefined {
  if (isNamedHost(url, policy)) return urlToHttpOptions(url)
  const host = hostOf(url)
  if (isIP(host) !== 0 && isRefused(host, policy.networks)) return undefined
  return { ...urlToHttpOptions(url), lookup: guardedLookup((address) => isRefused(address, policy.networks)) }
}
