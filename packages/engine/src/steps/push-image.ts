/** Tags and pushes an image with several tags. Retries transient registry failures. */
import { isFault, retry, sentences } from '@windlass/kit'
import type { StepRun } from '../attempt/context.ts'
import { toUnknownFailure } from '../containers/failures.ts'
import { isDiskFull, isImageGone } from '../docker/containers.ts'
import type { RegistryLogin } from '../docker/images.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

export interface ImagePush {
  /** Name or id of the image. */
  readonly image: string
  /** The name of the image at the registry. */
  readonly repository: string
  readonly tags: readonly string[]
  readonly login: RegistryLogin | undefined
}

/** Two builds that push one tag at the same time sometimes conflict. */
const PUSH = { baseMs: 500, maxMs: 8_000, tries: 4 }

/** Pushes all tags. Returns the digest of the manifest. Throws `StepFailure` (`push-failed`, `disk-full`), or `docker-refused` without the image. */
export async function pushAll(run: StepRun, push: ImagePush): Promise<string | undefined> {
  let digest: string | undefined
  for (const tag of push.tags) digest = (await pushOne(run, push, tag)) ?? digest
  return digest
}

async function pushOne(
  { context, output, signal }: StepRun,
  { image, repository, login }: ImagePush,
  tag: string,
): Promise<string | undefined> {
  const { docker, clock } = context
  const target = { repository, tag }
  const name = `${repository}:${tag}`
  await output.say(`Pushing ${name}.`)
  const onRetry = (error: unknown): void =>
    void output.say(sentences(`The push failed: ${error instanceof Error ? error.message : String(error)}`, 'Retrying.'))
  try {
    const digest = await retry({ ...PUSH, clock, signal, retryIf: isTransient, onRetry }, async () => {
      await docker.tagImage(image, target).catch((error: unknown) => {
        // Only tagging writes to the disk of the build. The push reports errors of the registry, which can be a full disk of its own.
        throw isFault(error) && isDiskFull(error) ? toUnknownFailure(`${name} cannot be pushed`, error) : error
      })
      return docker.pushImage(target, { login, signal })
    })
    await output.say(`Pushed ${name}${digest === undefined ? '' : ` (${digest})`}.`)
    return digest
  } catch (error) {
    // The caller pulls an image again that was removed from the daemon.
    if (!isFault(error, 'docker-refused') || isImageGone(error)) throw error
    const denied = /denied|unauthorized|no basic auth|authentication required/i.test(error.message)
    throw new StepFailure('push-failed', `${name} cannot be pushed: ${error.message}`, {
      cause: error,
      hint: denied
        ? 'Check username and password of the registry context, and their permission to push.'
        : 'Check that the Docker daemon can reach the registry. A registry without TLS must be in its insecure-registries.',
    })
  }
}

function isTransient(error: unknown): boolean {
  if (!isFault(error, 'docker-refused') || isImageGone(error)) return false
  return !/denied|unauthorized|no basic auth|authentication required|invalid reference|name invalid|no such host|server gave HTTP response/i.test(
    error.message,
  )
}
