/** Finds or pulls the images of steps, and pulls images of later steps ahead of time. */
import { defined, isFault, retry, type Clock, type Logger } from '@windlass/kit'
import { isUnreached, type StepImage } from '@windlass/plan'
import type { RegistryAccess } from '@windlass/protocol'
import type { ImageClaims } from '../clean/image-claims.ts'
import { isDiskFull, isImageGone } from '../docker/containers.ts'
import type { Docker } from '../docker/docker.ts'
import { parseImageName, type Image, type RegistryLogin } from '../docker/images.ts'
import { findRegistryOf, getRegistry, loginFor, qualify } from './registries.ts'
import { StepFailure } from './step-outcome.ts'

export interface ImageRequest {
  readonly name: string
  /** Name of the registry integration to pull with. */
  readonly registryContext?: string | undefined
}

export interface FoundImage extends Image {
  /** The name to create containers with. */
  readonly name: string
  /** One line for the log. */
  readonly note: string
}

/** Returns the image for the end of a step. The digest is that of the repository in its name. */
export function toStepImage({ name, repoDigests }: Pick<FoundImage, 'name' | 'repoDigests'>): StepImage {
  const { repository, digest } = parseImageName(name)
  const known = repoDigests.map((text) => parseImageName(text))
  const own = known.find((found) => found.repository === repository) ?? (known.length === 1 ? known[0] : undefined)
  return { name, ...defined({ digest: digest ?? own?.digest }) }
}

export interface EnsureOptions {
  readonly signal: AbortSignal
  readonly say: (line: string) => Promise<void>
}

export interface StepImages {
  /** Finds or pulls an image. Throws `StepFailure` (`image-not-found`, `integration-missing`; `dind-lost` for an image of Windlass). */
  ensure(request: ImageRequest, options: EnsureOptions): Promise<FoundImage>
  /**
   * Runs `work` with an image. If the daemon refuses a call of `work` because it no longer has the image, finds or pulls the image again and runs
   * `work` once more. Throws like `ensure` and `work`.
   */
  use<T>(request: ImageRequest, options: EnsureOptions, work: (image: FoundImage) => Promise<T>): Promise<T>
  /** Starts to pull an image that will be needed. Failures are reported by `ensure`. */
  prefetch(request: ImageRequest): void
}

export interface StepImagesOptions {
  readonly docker: Docker
  readonly registries: readonly RegistryAccess[]
  readonly clock: Clock
  readonly log: Logger
  /** Aborted at the end of the attempt. */
  readonly signal: AbortSignal
  /** Protects the images of steps from the cleaner. */
  readonly claims?: Pick<ImageClaims, 'claim'> | undefined
  /** Names of the images of Windlass. If the daemon does not get one of them, the attempt is lost: it is not the fault of the pipeline. */
  readonly own?: readonly string[] | undefined
  /** Called before an image is pulled. */
  readonly onPull?: ((name: string) => Promise<void>) | undefined
}

const PULL = { baseMs: 500, maxMs: 5_000, tries: 3 }

/** Uses an image that is on the disk as it is: a build that needs a newer one must use a digest or another tag. */
export function openStepImages(options: StepImagesOptions): StepImages {
  const { docker, registries, log } = options
  const fetching = new Map<string, Promise<FoundImage>>()

  const keyOf = ({ registryContext = '', name }: ImageRequest): string => `${registryContext} ${name}`

  function fetchOnce(request: ImageRequest): Promise<FoundImage> {
    const key = keyOf(request)
    const known = fetching.get(key)
    if (known !== undefined) return known
    const work = fetchImage(request).catch((error: unknown) => {
      throw isOwn(request) ? toOwnFailure(request, error) : error
    })
    fetching.set(key, work)
    // A failure is not cached: the next try of a step asks the registry again.
    work.catch(() => fetching.delete(key))
    return work
  }

  function isOwn({ name }: ImageRequest): boolean {
    return options.own?.includes(name) === true
  }

  async function isClaimed({ id }: Image): Promise<boolean> {
    return options.claims === undefined || (await options.claims.claim(id))
  }

  async function fetchImage(request: ImageRequest): Promise<FoundImage> {
    const { name, login } = resolveImage(request, registries)
    const present = await docker.inspectImage(name)
    if (present !== undefined && (await isClaimed(present)))
      return { ...present, name, note: `Image ${name} is on the disk (${shortId(present)}).` }
    await options.onPull?.(name)
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

  async function ensure(request: ImageRequest, { signal, say }: EnsureOptions): Promise<FoundImage> {
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
  }

  /** Forgets what was found, unless another step has already found the image again. */
  async function forget(request: ImageRequest, found: FoundImage): Promise<void> {
    const key = keyOf(request)
    const known = fetching.get(key)
    if ((await known?.catch(() => undefined)) === found && fetching.get(key) === known) fetching.delete(key)
  }

  return {
    ensure,
    async use(request, ensuring, work) {
      const found = await ensure(request, ensuring)
      try {
        return await work(found)
      } catch (error) {
        if (!isImageGone(error)) throw error
      }
      // The cleaner of the daemon or a step (`docker image prune`) can remove an image that no container uses yet.
      await ensuring.say(`The Docker daemon no longer has the image ${found.name}.`)
      await forget(request, found)
      const again = await ensure(request, ensuring)
      return work(again).catch((error: unknown) => {
        const failure = isImageGone(error) ? removed(again, error) : error
        throw isOwn(request) ? toOwnFailure(request, failure) : failure
      })
    },
    prefetch(request) {
      fetchOnce(request).catch((error: unknown) => log.debug({ err: error, image: request.name }, 'image cannot be prefetched'))
    },
  }
}

function resolveImage(
  { name, registryContext }: ImageRequest,
  registries: readonly RegistryAccess[],
): { name: string; login: RegistryLogin | undefined } {
  const registry = registryContext === undefined ? findRegistryOf(name, registries) : getRegistry(registryContext, registries)
  const qualified = registryContext === undefined ? name : qualify(name, registry)
  return { name: qualified, login: loginFor(qualified, registry) }
}

async function pull({
  docker,
  name,
  login,
  clock,
  signal,
}: StepImagesOptions & { name: string; login: RegistryLogin | undefined }): Promise<void> {
  try {
    const onRetry = (error: unknown, delayMs: number): void => docker.onRetry?.({ operation: 'pull image', error, delayMs })
    await retry({ ...PULL, clock, signal, retryIf: isTransient, onRetry }, () => docker.pullImage(name, { login, signal }))
  } catch (error) {
    if (!isFault(error, 'docker-refused')) throw error
    if (isDiskFull(error))
      throw new StepFailure('disk-full', `The image ${name} cannot be pulled: ${error.message}`, { cause: error })
    throw new StepFailure('image-not-found', `The image ${name} cannot be pulled: ${error.message}`, {
      cause: error,
      hint: pullHint(error.message, name),
    })
  }
}

/** Returns false if the registry has rejected the image permanently. */
function isTransient(error: unknown): boolean {
  if (!isFault(error, 'docker-refused')) return false
  return !/not found|manifest unknown|denied|unauthorized|no such host|invalid reference|does not exist|no basic auth/i.test(
    error.message,
  )
}

/** Converts the failure to find an image of Windlass. Other errors are returned unchanged. */
function toOwnFailure({ name }: ImageRequest, error: unknown): unknown {
  if (!(error instanceof StepFailure) || error.reason !== 'image-not-found') return error
  return new StepFailure(
    'dind-lost',
    `The Docker daemon of the build does not have the image ${name} of Windlass. ${error.message}`,
    {
      cause: error,
      hint: 'Check that the images of engine and daemon are of the same version, and that the daemon can pull the images of Windlass.',
    },
  )
}

function removed({ name }: FoundImage, cause: unknown): StepFailure {
  return new StepFailure(
    'image-not-found',
    `The image ${name} was removed from the Docker daemon twice before a container could use it.`,
    {
      cause,
      hint: 'Find out which step or which process on the machine of the daemon removes images.',
    },
  )
}

function shortId(image: Image): string {
  return image.id.replace(/^sha256:/, '').slice(0, 12)
}

/** Returns a hint for the error message of a daemon or registry. */
export function pullHint(message: string, name: string): string {
  const ours = /(?:^|\/)windlass\/(tools|buildkit|cosign|deploy)(?=[:@]|$)/.exec(name)?.[1]
  if (ours !== undefined)
    return `This image is a part of Windlass. Build it in a clone with \`scripts/images ${ours}\`, or load it from a release with \`docker load\`.`
  const registry = name.includes('/') ? (name.split('/')[0] ?? name) : name
  if (/x509|certificate|server gave HTTP response to HTTPS client/i.test(message))
    return `The Docker daemon does not trust ${registry}: add the CA of that registry to the daemon, or list it in \`insecure-registries\`.`
  if (isUnreached(message))
    return `The Docker daemon does not reach the registry: check the host in the image name, and the network and DNS of the daemon.`
  return 'Check the name and the tag; for a private registry add a registry context and name it in `registry_context`.'
}
