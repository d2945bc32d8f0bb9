/**
 * What an image is made of, as one hash: files that the build sees, Dockerfile, arguments, target, base images. A later build with the same
 * one has nothing to do (pipeline language 7.4). Contents of BuildKit secrets are no part of it, as they are none of BuildKit's own cache.
 */
import { createHash } from 'node:crypto'
import type { ResolvedBuild } from '@windlass/plan'
import type { KnownImage, RegistryAccess } from '@windlass/protocol'
import type { AttemptContext, StepRun } from '../attempt/context.ts'
import { findRegistryOf, toLogin } from '../attempt/registries.ts'
import { parseImageName, registryDomain } from '../docker/images.ts'
import { readIgnoreRules, toAwk } from './dockerignore.ts'
import { readDockerfileImages } from './dockerfile-images.ts'

/** The label that an image carries its content hash in. */
export const LABEL_CONTENT = 'windlass.io/content'

const MAX_DOCKERFILE_BYTES = 1_048_576
/** Enough for every build that might have the same content. */
const MAX_KNOWN = 1_000

export interface ContentKey {
  /** Hash of all but the files. */
  readonly salt: string
  /** Program for awk that prints the files a build sees. */
  readonly visible: string
  /** Hash -> where an image with it is. An image of the daemon goes before one of a registry. */
  readonly known: ReadonlyMap<string, ContentSource>
}

export type ContentSource = { readonly imageId: string } | { readonly reference: string }

export interface ContentOptions {
  readonly dockerfilePath: string
  /** Logins for base images. */
  readonly registries: readonly RegistryAccess[]
}

/** Undefined when the content cannot be told without building. */
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

/** The digest of a base image where it has one, so that the same image means the same on every disk. */
async function identify(
  { docker }: AttemptContext,
  name: string,
  registries: readonly RegistryAccess[],
): Promise<string | undefined> {
  const image = await docker.inspectImage(name)
  if (image === undefined)
    return docker.findDigest(
      name,
      toLogin(registries.find(({ domain }) => domain === registryDomain(name)) ?? findRegistryOf(name, registries)),
    )
  const { repository } = parseImageName(name)
  return image.repoDigests.find((entry) => entry.startsWith(`${repository}@`))?.split('@')[1] ?? image.id
}
