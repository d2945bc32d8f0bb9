/**
 * Computes the content hash of an image: files visible to the build, Dockerfile, arguments, target, base images. A later build with the same hash is
 * skipped. Contents of BuildKit secrets are not included, as in BuildKit's own cache.
 */
import { createHash } from 'node:crypto'
import type { ResolvedBuild } from '@windlass/plan'
import type { KnownImage, RegistryAccess } from '@windlass/protocol'
import type { AttemptContext, StepRun } from '../attempt/context.ts'
import { findRegistryOf, loginFor } from '../attempt/registries.ts'
import { parseImageName, registryDomain } from '../docker/images.ts'
import { readIgnoreRules, toAwk } from './dockerignore.ts'
import { readDockerfileImages } from './dockerfile-images.ts'

/** The label with the content hash of an image. */
export const LABEL_CONTENT = 'windlass.io/content'

const MAX_DOCKERFILE_BYTES = 1_048_576
/** Maximum number of known images to compare with. */
const MAX_KNOWN = 1_000

export interface ContentKey {
  /** Hash of everything except the files. */
  readonly salt: string
  /** awk program that prints the files visible to the build. */
  readonly visible: string
  /** Hash -> location of an image. Images of the daemon take precedence over those of a registry. */
  readonly known: ReadonlyMap<string, ContentSource>
}

export type ContentSource = { readonly imageId: string } | { readonly reference: string }

export interface ContentOptions {
  readonly dockerfilePath: string
  /** Logins for base images. */
  readonly registries: readonly RegistryAccess[]
}

/** Returns undefined if the content cannot be determined without building. */
export async function readContentKey(
  { action, context, signal }: StepRun<ResolvedBuild>,
  { dockerfilePath, registries }: ContentOptions,
): Promise<ContentKey | undefined> {
  const { workspace, docker, input } = context
  const read = (path: string) => workspace.read(path, MAX_DOCKERFILE_BYTES)
  const [dockerfile, own, common, local] = await Promise.all([
    'content' in action.dockerfile ? action.dockerfile.content : read(dockerfilePath),
    'content' in action.dockerfile ? undefined : read(`${dockerfilePath}.dockerignore`),
    read(`${action.directory}/.dockerignore`),
    docker.listImages(LABEL_CONTENT),
  ])
  if (dockerfile === undefined) return undefined
  const { images, isComplete } = readDockerfileImages(dockerfile, action.buildArguments)
  if (!isComplete) return undefined
  signal.throwIfAborted()
  const bases = await Promise.all(images.map((name) => identify(context, name, registries)))
  if (bases.includes(undefined)) return undefined
  const { buildArguments, target = '', platform = '', squash } = action
  const salt = createHash('sha256').update(
    JSON.stringify([1, dockerfile, buildArguments.toSorted(), target, platform, squash, bases]),
  )
  const known = new Map<string, ContentSource>()
  for (const { id, labels } of local) addKnown(known, labels[LABEL_CONTENT], { imageId: id })
  for (const image of input.knownImages ?? []) addKnown(known, image.contentHash, toSource(image))
  return { salt: salt.digest('hex'), visible: toAwk(readIgnoreRules(own ?? common ?? '')), known }
}

function addKnown(known: Map<string, ContentSource>, hash: string | undefined, source: ContentSource | undefined): void {
  if (hash !== undefined && source !== undefined && !known.has(hash) && known.size < MAX_KNOWN) known.set(hash, source)
}

function toSource({ name, digest }: KnownImage): ContentSource | undefined {
  return digest === undefined ? undefined : { reference: `${name}@${digest}` }
}

/** Returns the digest of a base image if it has one, because it is the same on every disk; else the image id. */
async function identify(
  { docker }: AttemptContext,
  name: string,
  registries: readonly RegistryAccess[],
): Promise<string | undefined> {
  const image = await docker.inspectImage(name)
  if (image === undefined)
    return docker.findDigest(
      name,
      loginFor(name, registries.find(({ domain }) => domain === registryDomain(name)) ?? findRegistryOf(name, registries)),
    )
  const { repository } = parseImageName(name)
  return image.repoDigests.find((entry) => entry.startsWith(`${repository}@`))?.split('@')[1] ?? image.id
}
