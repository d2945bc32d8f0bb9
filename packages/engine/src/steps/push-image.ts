/** Tags and pushes an image under several tags; passing troubles of a registry are met with another try. */
import { isFault, retry } from '@windlass/kit'
import { StepFailure, type StepRun } from '../attempt/context.ts'
import type { RegistryLogin } from '../docker/images.ts'

export interface ImagePush {
  /** Name or id of what is pushed. */
  readonly image: string
  /** As it is called at the registry. */
  readonly repository: string
  readonly tags: readonly string[]
  readonly login: RegistryLogin | undefined
}

/** Two builds that push one tag at the same moment get in each other's way now and then. */
const PUSH = { baseMs: 500, maxMs: 8_000, tries: 4 }

/** Resolves with the digest of the manifest. Throws `StepFailure` (`push-failed`). */
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
    void output.say(`Pushing did not work: ${error instanceof Error ? error.message : String(error)}. Trying again.`)
  try {
    const digest = await retry({ ...PUSH, clock, signal, retryIf: isPassing, onRetry }, async () => {
      await docker.tagImage(image, target)
      return docker.pushImage(target, { login, signal })
    })
    await output.say(`Pushed ${name}${digest === undefined ? '' : ` (${digest})`}.`)
    return digest
  } catch (error) {
    if (!isFault(error, 'docker-refused')) throw error
    const denied = /denied|unauthorized|no basic auth|authentication required/i.test(error.message)
    throw new StepFailure('push-failed', `${name} cannot be pushed: ${error.message}`, {
      cause: error,
      hint: denied
        ? 'Check username and password of the registry context, and that they may push.'
        : 'Is the registry reachable from the Docker daemon? One without TLS must be in its insecure-registries.',
    })
  }
}

function isPassing(error: unknown): boolean {
  if (!isFault(error, 'docker-refused')) return false
  return !/denied|unauthorized|no basic auth|authentication required|invalid reference|name invalid|no such host|server gave HTTP response/i.test(
    error.message,
  )
}
