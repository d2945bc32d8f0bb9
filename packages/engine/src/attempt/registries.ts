/** Finds the registry integration of an image name. */
import type { RegistryAccess } from '@windlass/protocol'
import { registryDomain, type RegistryLogin } from '../docker/images.ts'
import { StepFailure } from './step-outcome.ts'

/** Returns the named integration. Throws `StepFailure` (`integration-missing`). */
export function getRegistry(name: string, registries: readonly RegistryAccess[]): RegistryAccess {
  const found = registries.find(({ context }) => context === name)
  if (found === undefined)
    throw new StepFailure('integration-missing', `There is no registry integration "${name}".`, {
      hint: `Known integrations: ${registries.map(({ context }) => context).join(', ') || 'none'}. Add one with \`windlass create -f\`, kind context, type registry.`,
    })
  return found
}

/** Returns the primary integration for the domain of a repository. */
export function findRegistryOf(repository: string, registries: readonly RegistryAccess[]): RegistryAccess | undefined {
  const domain = registryDomain(repository)
  const same = registries.filter((registry) => registry.domain === domain)
  return same.find(({ isPrimary }) => isPrimary) ?? same.find(({ isDefault }) => isDefault) ?? same[0]
}

/**
 * Returns the login of an integration for a repository on its host. Throws `StepFailure` (`invalid-step`) if the repository is on another host, which
 * would receive the password.
 */
export function loginFor(repository: string, registry: RegistryAccess | undefined): RegistryLogin | undefined {
  const login = toLogin(registry)
  if (registry === undefined || login === undefined || registryDomain(repository) === registry.domain) return login
  throw new StepFailure(
    'invalid-step',
    `The image ${repository} is at ${registryDomain(repository)}, but the registry integration "${registry.context}" is for ${registry.domain}. Its login is not sent there.`,
    { hint: 'Leave the host out of the image name, or name an integration of that host.' },
  )
}

/** Converts an integration to a login, for callers that keep it with its domain. Use `loginFor` to pull or push a repository. */
export function toLogin(registry: RegistryAccess | undefined): RegistryLogin | undefined {
  if (registry?.username === undefined || registry.password === undefined) return undefined
  return { domain: registry.domain, username: registry.username, password: registry.password }
}

/** Returns `repository` with the domain and prefix of the registry. A name that contains a registry already is returned unchanged. */
export function qualify(repository: string, registry: RegistryAccess | undefined): string {
  if (registry === undefined || registryDomain(repository) !== 'docker.io') return repository
  const path =
    registry.repositoryPrefix === undefined ? repository : `${registry.repositoryPrefix.replace(/^\/|\/$/g, '')}/${repository}`
  return registry.domain === 'docker.io' ? path : `${registry.domain}/${path}`
}
