/** The registries. Each reads its own webhook calls; everything after `parse` is the same for all of them. */
import { REGISTRIES, type Registry } from '@windlass/protocol'
import type { Sender } from '../store/schema/schema.ts'
import type { RegistryReader } from './artifact.ts'
import { acr, ecr, gcr } from './cloud.ts'
import { distribution, dockerhub, harbor, quay } from './hosted.ts'
import { artifactory, generic } from './repository.ts'

export const REGISTRY_READERS: Readonly<Record<Registry, RegistryReader>> = {
  dockerhub,
  quay,
  acr,
  ecr,
  gcr,
  harbor,
  artifactory,
  distribution,
  generic,
}

export function isRegistry(sender: Sender): sender is Registry {
  return (REGISTRIES as readonly string[]).includes(sender)
}
