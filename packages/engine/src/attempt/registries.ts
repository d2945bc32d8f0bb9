/** Which registry integration an image name belongs to (pipeline language 7.5). */
import type { RegistryAccess } from '@windlass/protocol'
import { registryDomain, type RegistryLogin } from '../docker/images.ts'
import { StepFailure } from './context.ts'

/** The integration of this name. Throws `StepFailure` (`integration-missing`). */
export function getRegistry(name: string, registries: readonly RegistryAccess[]): RegistryAccess {
  const found = registries.find(({ context }) => context === name)
  if (found === undefined)
    throw new StepFailure('integration-missing', `There is no registry integration "${name}".`, {
      hint: `Known here: ${registries.map(({ context }) => context).join(', ') || 'none'}. Add one with \`windlass create -f\`, kind context, type registry.`,
    })
  return found
}

/** The primary integration of a registry's domain. */
export function findRegistryOf(repository: string, registries: readonly RegistryAccess[]): RegistryAccess | undefined {
  const domain = registryDomain(repository)
  const same = registries.filter((registry) => registry.domain === domain)
  return same.find(({ isPrimary }) => isPrimary) ?? same.find(({ isDefault }) => isDefault) ?? same[0]
}

export function toLogin(registry: RegistryAccess | undefined): RegistryLogin | undefined {
  if (registry?.username === undefined || registry.password === undefined) return undefined
  return { domain: registry.domain, username: registry.username, password: registry.password }
}

/** `repository` as it is called at the registry; one that names a registry already stays as it is. */
export function qualify(repository: string, registry: RegistryAccess | undefined): string {
  if (registry === undefined || registryDomain(repository) !== 'docker.io') return repository
  const path =
    registry.repositoryPrefix === undefined ? repository : `${registry.repositoryPrefix.replace(/^\/|\/$/g, '')}/${repository}`
  return registry.domain === 'docker.io' ? path : `${registry.domain}/${path}`
}
