/** What the checks of a step know of the account that the pipeline is for. */

export interface AccountContext {
  /** Git integrations; not checked when absent, like each of the lists. */
  readonly git?: readonly { readonly name: string; readonly isDefault: boolean }[]
  readonly registries?: readonly AccountRegistry[]
  readonly clusters?: readonly { readonly name: string; readonly isDefault?: boolean }[]
  /** Names of the variables that builds of the pipeline have. */
  readonly variables?: ReadonlySet<string>
  /** Build steps push to the default registry where they say nothing. */
  readonly autoPush: boolean
  /** Build steps do not push where they say nothing. */
  readonly disablePush: boolean
  /** Leaves out the warnings that a default is used where several would do (103, 203, 303). */
  readonly quietDefaults?: boolean
}

export interface AccountRegistry {
  readonly name: string
  /** Such as `docker.io`; the kind of the registry is read from it. */
  readonly domain: string
  readonly isDefault: boolean
}

/** No account: nothing of it is checked. */
export const UNKNOWN_ACCOUNT: AccountContext = { autoPush: true, disablePush: false }

export type RegistryKind = 'ecr' | 'google' | 'standard'

/** The kind of a registry by its domain. Linear in it. */
export function registryKind(domain: string): RegistryKind {
  const host = domain.toLowerCase().split('/', 1)[0] ?? ''
  if (/^\d{12}\.dkr\.ecr(?:-fips)?\.[a-z0-9-]{1,30}\.amazonaws\.com(?:\.cn)?$/.test(host) || host === 'public.ecr.aws')
    return 'ecr'
  return host === 'gcr.io' || host.endsWith('.gcr.io') || host.endsWith('.pkg.dev') ? 'google' : 'standard'
}

const LONGEST_HOST = 4_096

/**
 * True for a registry that is written as a host or URL and not as the name of an integration: a host with a dot or a port, with or without
 * scheme and path. One pass over at most 4,096 characters, whatever the text is.
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
