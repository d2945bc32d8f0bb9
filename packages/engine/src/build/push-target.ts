/** Where the image of a build step goes: the step says it, else the account (pipeline language 1.6 and 2.4). */
import type { ResolvedBuild } from '@windlass/plan'
import type { EngineClaimed, RegistryAccess } from '@windlass/protocol'
import { StepFailure } from '../attempt/context.ts'
import { findRegistryOf, getRegistry, qualify, toLogin } from '../attempt/registries.ts'
import { registryDomain, type RegistryLogin } from '../docker/images.ts'

export interface PushTarget {
  /** As the image is called at the registry. */
  readonly repository: string
  readonly login: RegistryLogin | undefined
}

/** A target, or why there is none. Throws `StepFailure` (`integration-missing`, `invalid-step`). */
export function findPushTarget(
  action: Pick<ResolvedBuild, 'imageName' | 'registry' | 'disablePush'>,
  { registries, autoPush }: Pick<EngineClaimed, 'registries' | 'autoPush'>,
): PushTarget | { readonly why: string } {
  const { imageName, registry, disablePush } = action
  if (disablePush === true) return { why: 'the step says `disable_push`' }
  if (registry !== undefined && registry !== '') return toTarget(imageName, getRegistry(registry, registries))
  if (disablePush === undefined && autoPush === false)
    return { why: 'the account pushes an image only where the step names a registry' }
  if (registryDomain(imageName) !== 'docker.io') {
    const own = findRegistryOf(imageName, registries)
    if (own === undefined && disablePush !== false && autoPush !== true)
      return { why: 'there is no integration for the registry in its name' }
    return { repository: imageName, login: toLogin(own) }
  }
  const standard = registries.find(({ isDefault }) => isDefault)
  if (standard !== undefined) return toTarget(imageName, standard)
  if (disablePush !== false && autoPush !== true) return { why: 'no registry is named and there is no default one' }
  throw new StepFailure(
    'integration-missing',
    'The image is to be pushed, but no registry is named and there is no default one.',
    {
      hint: 'Write `registry`, or make an integration the default one.',
    },
  )
}

function toTarget(imageName: string, registry: RegistryAccess): PushTarget {
  return { repository: qualify(imageName, registry), login: toLogin(registry) }
}
