/** The images of steps: looked for on the disk, else pulled, and fetched ahead while earlier steps run. */
import { isFault, retry, type Clock, type Logger } from '@windlass/kit'
import type { RegistryAccess } from '@windlass/protocol'
import type { ImageClaims } from '../clean/image-claims.ts'
import type { Docker } from '../docker/docker.ts'
import type { Image, RegistryLogin } from '../docker/images.ts'
import { StepFailure } from './context.ts'
import { findRegistryOf, getRegistry, qualify, toLogin } from './registries.ts'

export interface ImageRequest {
  readonly name: string
  /** Name of the registry integration to pull with. */
  readonly registryContext?: string | undefined
}

export interface FoundImage extends Image {
  /** What to name when a container is made of it. */
  readonly name: string
  /** One line for the log. */
  readonly note: string
}

export interface StepImages {
  /** Throws `StepFailure` (`image-not-found`, `integration-missing`). */
  ensure(
    request: ImageRequest,
    options: { readonly signal: AbortSignal; readonly say: (line: string) => Promise<void> },
  ): Promise<FoundImage>
  /** Begins to fetch an image that will be needed; failures show when it is. */
  prefetch(request: ImageRequest): void
}

export interface StepImagesOptions {
  readonly docker: Docker
  readonly registries: readonly RegistryAccess[]
  readonly clock: Clock
  readonly log: Logger
  /** Aborted at the end of the attempt. */
  readonly signal: AbortSignal
  /** Keeps the cleaner away from the images of steps. */
  readonly claims?: Pick<ImageClaims, 'claim'> | undefined
}

const PULL = { baseMs: 500, maxMs: 5_000, tries: 3 }

/** An image that is on the disk is taken as it is: a build that must have a newer one names a digest or another tag. */
export function openStepImages(options: StepImagesOptions): StepImages {
  const { docker, registries, log } = options
  const fetching = new Map<string, Promise<FoundImage>>()

  function fetchOnce(request: ImageRequest): Promise<FoundImage> {
    const key = `${request.registryContext ?? ''} ${request.name}`
    const known = fetching.get(key)
    if (known !== undefined) return known
    const work = fetchImage(request)
    fetching.set(key, work)
    // A failure is not remembered: the next try of a step asks the registry again.
    work.catch(() => fetching.delete(key))
    return work
  }

  async function isClaimed({ id }: Image): Promise<boolean> {
    return options.claims === undefined || (await options.claims.claim(id))
  }

  async function fetchImage(request: ImageRequest): Promise<FoundImage> {
    const { name, login } = resolveImage(request, registries)
    const present = await docker.inspectImage(name)
    if (present !== undefined && (await isClaimed(present)))
      return { ...present, name, note: `Image ${name} is on the disk (${shortId(present)}).` }
    const started = options.clock.monotonic()
    await pull({ ...options, name, login })
    const pulled = await docker.inspectImage(name)
    if (pulled === undefined)
      throw new StepFailure('image-not-found', `The image ${name} was pulled, but the daemon does not have it.`)
    await isClaimed(pulled)
    const seconds = ((options.clock.monotonic() - started) / 1000).toFixed(1)
    return {
      ...pulled,
      name,
      note: `Image ${name} was pulled in ${seconds} s (${pulled.repoDigests[0]?.split('@')[1] ?? shortId(pulled)}).`,
    }
  }

  return {
    async ensure(request, { signal, say }) {
      const work = fetchOnce(request)
      const { promise: stopped, reject } = Promise.withResolvers<never>()
      const stop = (): void => reject(signal.reason)
      signal.throwIfAborted()
      signal.addEventListener('abort', stop, { once: true })
      try {
        const found = await Promise.race([work, stopped])
        await say(found.note)
        return found
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
    prefetch(request) {
      fetchOnce(request).catch((error: unknown) =>
        log.debug({ err: error, image: request.name }, 'image cannot be fetched ahead'),
      )
    },
  }
}

function resolveImage(
  { name, registryContext }: ImageRequest,
  registries: readonly RegistryAccess[],
): { name: string; login: RegistryLogin | undefined } {
  if (registryContext === undefined) return { name, login: toLogin(findRegistryOf(name, registries)) }
  const registry = getRegistry(registryContext, registries)
  return { name: qualify(name, registry), login: toLogin(registry) }
}

async function pull({
  docker,
  name,
  login,
  clock,
  signal,
}: StepImagesOptions & { name: string; login: RegistryLogin | undefined }): Promise<void> {
  try {
    await retry({ ...PULL, clock, signal, retryIf: isPassing }, () => docker.pullImage(name, { login, signal }))
  } catch (error) {
    if (!isFault(error, 'docker-refused')) throw error
    throw new StepFailure('image-not-found', `The image ${name} cannot be pulled: ${error.message}`, {
      cause: error,
      hint: 'Check the name and the tag; for a private registry add a registry context and name it in `registry_context`.',
    })
  }
}

/** False when the registry has said no for good. */
function isPassing(error: unknown): boolean {
  if (!isFault(error, 'docker-refused')) return false
  return !/not found|manifest unknown|denied|unauthorized|no such host|invalid reference|does not exist|no basic auth/i.test(
    error.message,
  )
}

function shortId(image: Image): string {
  return image.id.replace(/^sha256:/, '').slice(0, 12)
}
