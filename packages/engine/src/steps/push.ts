/** Runs push steps: pushes an existing image to a registry. */
import { defined } from '@windlass/kit'
import type { ResolvedPush } from '@windlass/plan'
import type { RegistryAccess } from '@windlass/protocol'
import type { StepRun } from '../attempt/context.ts'
import { findRegistryOf, loginFor, qualify } from '../attempt/registries.ts'
import { parseImageName, registryDomain } from '../docker/images.ts'
import { requireLogin } from '../image-build/require-login.ts'
import { pushAll } from './push-image.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'

export async function runPush(run: StepRun<ResolvedPush>): Promise<StepOutcome> {
  const { action, context, output, signal } = run
  requireLogin(action.aws)
  const name = nameOf(run)
  const registry = targetOf(action, name, context.input.registries)
  const repository = qualify(name, registry)
  const { credentials } = action
  if (credentials !== undefined) output.hide([credentials.password])
  const login =
    credentials === undefined ? loginFor(repository, registry) : { ...credentials, domain: registryDomain(repository) }
  const tags = action.tags.length > 0 ? [...action.tags] : ['latest']
  const { found, digest } = await context.images.use(
    { name: action.candidate, registryContext: action.registryContext },
    { signal, say: (line) => output.say(line) },
    async (image) => ({ found: image, digest: await pushAll(run, { image: image.id, repository, tags, login }) }),
  )
  context.emit({
    type: 'image',
    step: run.step.name,
    imageId: found.id,
    name: repository,
    tags,
    ...defined({ digest }),
    sizeBytes: found.sizeBytes,
    pushed: true,
  })
  return {
    status: 'success',
    exitCode: 0,
    members: {
      registry: registryDomain(repository),
      imageId: found.id,
      imageRepoDigest: digest === undefined ? '' : `${repository}@${digest}`,
    },
    exports: [],
  }
}

/** Returns the name from the step, else that of the candidate without its registry. */
function nameOf({ action, membersOf }: StepRun<ResolvedPush>): string {
  if (action.imageName !== undefined && action.imageName !== '') return action.imageName.toLowerCase()
  const { imageName } = action.candidateStep === undefined ? {} : membersOf(action.candidateStep)
  if (imageName !== undefined) return imageName
  const { repository } = parseImageName(action.candidate)
  if (repository.startsWith('sha256') || repository === '')
    throw new StepFailure('invalid-step', `The candidate ${action.candidate} has no name.`, {
      hint: 'Add `image_name` to the step.',
    })
  const domain = registryDomain(repository)
  return repository.startsWith(`${domain}/`) ? repository.slice(domain.length + 1) : repository
}

/** Returns the target: an integration by name, a registry by host, the registry in the image name, or the default one. */
function targetOf({ registry }: ResolvedPush, name: string, registries: readonly RegistryAccess[]): RegistryAccess | undefined {
  const named = registries.find(({ context }) => context === registry)
  if (named !== undefined) return named
  if (registry !== undefined && registry !== '') {
    if (!/[.:]|^localhost$/.test(registry)) throw missing(`There is no registry integration "${registry}".`, registries)
    const known = findRegistryOf(`${registry}/x`, registries)
    return known ?? { context: registry, isDefault: false, domain: registry }
  }
  if (registryDomain(name) !== 'docker.io') return findRegistryOf(name, registries)
  const standard = registries.find(({ isDefault }) => isDefault)
  if (standard === undefined) throw missing('The step names no registry, and there is no default one.', registries)
  return standard
}

function missing(message: string, registries: readonly RegistryAccess[]): StepFailure {
  return new StepFailure('integration-missing', message, {
    hint: `Known integrations: ${registries.map(({ context }) => context).join(', ') || 'none'}. Add a context of type registry, or set \`registry\` to a host.`,
  })
}
