/** Decides where a build step pushes its image: by the step, else by the account. */
import type { ResolvedBuild } from '@windlass/plan'
import type { EngineClaimed, RegistryAccess } from '@windlass/protocol'
import { findRegistryOf, getRegistry, loginFor, qualify } from '../attempt/registries.ts'
import { registryDomain, type RegistryLogin } from '../docker/images.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

export interface PushTarget {
  /** The name of the image at the registry. */
  readonly repository: string
  readonly login: RegistryLogin | undefined
}

/** Returns the target, or why nothing is pushed. Throws `StepFailure` (`integration-missing`, `invalid-step`). */
export function findPushTarget(
  action: Pick<ResolvedBuild, 'imageName' | 'registry' | 'disablePush'>,
  { registries, autoPush }: Pick<EngineClaimed, 'registries' | 'autoPush'>,
): PushTarget | { readonly why: string } {
  const { imageName, registry, disablePush } = action
  if (disablePush === true) return { why: 'the step has `disable_push`' }
  if (registry !== undefined && registry !== '') return toTarget(imageName, getRegistry(registry, registries))
  if (disablePush === undefined && autoPush === false)
    return { why: 'the account pushes an image only if the step names a registry' }
  if (registryDomain(imageName) !== 'docker.io') {
    const own = findRegistryOf(imageName, registries)
    if (own === undefined && disablePush !== false && autoPush !== true)
      return { why: 'there is no integration for the registry in its name' }
    return { repository: imageName, login: loginFor(imageName, own) }
  }
  const standard = registries.find(({ isDefault }) => isDefault)
  if (standard !== undefined) return toTarget(imageName, standard)
  if (disablePush !== false && autoPush !== true) return { why: 'the step names no registry and there is no default one' }
  throw new StepFailure(
    'integration-missing',
    'The image must be pushed, but the step names no registry and there is no default one.',
    {
      hint: 'Add `registry` to the step, or make an integration the default one.',
    },
  )
}

function toTarget(imageName: string, registry: RegistryAccess): PushTarget {
  const repository = qualify(imageName, registry)
  return { repository, login: loginFor(repository, registry) }
}
