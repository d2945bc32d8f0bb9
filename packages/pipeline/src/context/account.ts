/** The account of a pipeline, as far as the checks of its steps need it. */

export interface AccountContext {
  /** Git integrations. Not checked if absent, like each of the lists. */
  readonly git?: readonly { readonly name: string; readonly isDefault: boolean }[]
  readonly registries?: readonly AccountRegistry[]
  readonly clusters?: readonly { readonly name: string; readonly isDefault?: boolean }[]
  /** Names of the variables that builds of the pipeline have. */
  readonly variables?: ReadonlySet<string>
  /** Build steps push to the default registry unless they say otherwise. */
  readonly autoPush: boolean
  /** Build steps do not push unless they say otherwise. */
  readonly disablePush: boolean
  /** Suppresses warnings about the use of a default when several integrations exist (103, 203, 303). */
  readonly quietDefaults?: boolean
}

export interface AccountRegistry {
  readonly name: string
  /** Registry host such as `docker.io`, which determines the registry kind. */
  readonly domain: string
  readonly isDefault: boolean
}

/** No account; nothing is checked against it. */
export const UNKNOWN_ACCOUNT: AccountContext = { autoPush: true, disablePush: false }

export type RegistryKind = 'ecr' | 'google' | 'standard'

/** Returns the kind of a registry by its domain. Linear in the domain. */
export function registryKind(domain: string): RegistryKind {
  const host = domain.toLowerCase().split('/', 1)[0] ?? ''
  if (/^\d{12}\.dkr\.ecr(?:-fips)?\.[a-z0-9-]{1,30}\.amazonaws\.com(?:\.cn)?$/.test(host) || host === 'public.ecr.aws')
    return 'ecr'
  return host === 'gcr.io' || host.endsWith('.gcr.io') || host.endsWith('.pkg.dev') ? 'google' : 'standard'
}

const LONGEST_HOST = 4_096

/**
 * Returns true for a registry written as a host or URL instead of an integration name: a host with a dot or a port, with or without scheme and
 * path. Reads at most 4,096 characters.
 */
export function isRegistryHost(text: string): boolean {
  if (text.length > LONGEST_HOST) return false
  const plain = text.startsWith('https://') ? text.slice(8) : text.startsWith('http://') ? text.slice(7) : text
  const slash = plain.indexOf('/')
  const [host = '', port, ...more] = (slash < 0 ? plain : plain.slice(0, slash)).split(':')
  if (more.length > 0 || !/^[A-Za-z0-9]/.test(host) || !/^[A-Za-z0-9.-]+$/.test(host)) return false
  if (port !== undefined) return /^\d{1,5}$/.test(port)
  return host === 'localhost' || (host.includes('.') && !host.endsWith('.') && !host.includes('..'))
}
