import { lookup, type LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'

/** Code of the error of a lookup that found an address which may not be called. */
export const ADDRESS_BLOCKED = 'ERR_ADDRESS_BLOCKED'

/** Returns all addresses of a name, as `dns.lookup` does. */
export type ResolveName = (
  name: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Resolves a name. Fails if one of its addresses is blocked, so that the connection is made to an address that was checked. `resolve` is the operating system by
 * default.
 */
export function guardedLookup(isBlocked: (address: string) => boolean, resolve: ResolveName = lookup): LookupFunction {
  return (name, options, done) => {
    resolve(name, { all: true }, (error, found) => {
      const [first] = found ?? []
      if (error !== null) done(error, '', 4)
      else if (first === undefined || found.some(({ address }) => isBlocked(address)))
        done(Object.assign(new Error(`no address of ${name} is allowed`), { code: ADDRESS_BLOCKED }), '', 4)
      else if (options.all === true) done(null, found)
      else done(null, first.address, first.family)
    })
  }
}
