/** Which host of a request means what. */

/** Label of the host at which clients register, which is below the domain so that its certificate and DNS record serve for it too. No runtime has it. */
export const REGISTER_LABEL = 'register'

/** Returns the label of a host directly below the domain; undefined for all other hosts, and for the one at which clients register. */
export function prefixOf(host: string | undefined, domain: string): string | undefined {
  const name = nameOf(host)
  const below = `.${domain.toLowerCase()}`
  if (!name.endsWith(below)) return undefined
  const label = name.slice(0, -below.length)
  // DNS allows no longer label, and the server remembers unknown ones for a while.
  const isLabel = label !== '' && label.length <= 63 && !label.includes('.')
  return isLabel && label !== REGISTER_LABEL ? label : undefined
}

/** True for a host below the domain, except the one at which clients register. */
export function isBelow(host: string | undefined, domain: string): boolean {
  const name = nameOf(host)
  const below = `.${domain.toLowerCase()}`
  return name.endsWith(below) && name !== `${REGISTER_LABEL}${below}`
}

/** Returns a host without its port and the dot at its end. */
export function nameOf(host: string | undefined): string {
  return (host ?? '').toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
