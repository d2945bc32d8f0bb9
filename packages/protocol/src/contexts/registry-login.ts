/** Where a registry of images takes logins, and who may get one: rules that the checks of an agent and the command line share. */

const DOCKER_HUB = 'registry-1.docker.io'

/** Returns the host of the registry API, with its port. Undefined for a text that is not one. The domain of Docker Hub is that of image names. */
export function registryHost(domain: string): string | undefined {
  if (domain === 'docker.io' || domain === 'index.docker.io') return DOCKER_HUB
  return /^([a-z0-9._-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/i.test(domain) && URL.canParse(`https://${domain}`) ? domain : undefined
}

export interface Challenge {
  readonly realm: string
  readonly service: string | undefined
}

/** Reads where a registry takes logins (RFC 6750 section 3). Undefined if it takes them itself. */
export function readChallenge(header: string | undefined): Challenge | undefined {
  const parameters = /\bBearer\s+(.*)$/is.exec(header ?? '')?.[1]
  const read = (name: string): string | undefined => new RegExp(`\\b${name}="([^"]*)"`, 'i').exec(parameters ?? '')?.[1]
  const realm = read('realm')
  return realm === undefined ? undefined : { realm, service: read('service') }
}

/** Returns true for hosts of one owner, such as `registry-1.docker.io` and `auth.docker.io`: the same host, or names with the same last two labels. */
export function sharesDomain(one: URL, other: URL): boolean {
  if (one.hostname === other.hostname) return true
  const ends = [one, other].map(({ hostname }) => hostname.split('.').slice(-2).join('.'))
  return ends[0] === ends[1] && [one, other].every(({ hostname }) => hostname.includes('.') && !isAddress(hostname))
}

/** The URL parser writes every form of an IPv4 address as four numbers. */
function isAddress(hostname: string): boolean {
  return hostname.startsWith('[') || /^\d+(?:\.\d+){3}$/.test(hostname)
}
