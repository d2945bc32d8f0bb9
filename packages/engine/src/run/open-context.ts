/** Prepares a daemon for an attempt: tools image, leftovers, volumes, the first network namespace. */
import type { EngineEventBody } from '@windlass/protocol'
import { BUILDKIT_IMAGE, COSIGN_IMAGE, DEPLOY_IMAGE, TOOLS_IMAGE, type AttemptContext } from '../attempt/context.ts'
import type { AttemptOptions } from '../attempt/input.ts'
import { openImageClaims } from '../clean/image-claims.ts'
import { isDiskFull } from '../docker/containers.ts'
import { openNamespaces } from '../attempt/namespaces.ts'
import { openStepImages } from '../attempt/step-images.ts'
import { redactEvent } from '../secrets/redact-event.ts'
import { keepWebIdentity } from '../secrets/web-identity.ts'
import { openWorkspace, removeLeftovers } from '../attempt/workspace.ts'
import { unlessAborted } from '../containers/run-container.ts'

export interface ContextParts {
  /** Aborted at the end of the attempt. */
  readonly end: AbortSignal
  /** Aborted to end the waits for the daemon. */
  readonly stop: AbortSignal
  /** Masks the secrets that are known at the time of the call. */
  readonly redact: (text: string) => string
  /** Writes a line to the log of the attempt. */
  readonly say: (line: string) => Promise<void>
}

/**
 * Opens the context of an attempt. Throws `StepFailure` (`dind-lost`; in a local build `image-not-found`) if the tools image is missing, the faults
 * of the daemon, or the reason of `parts.stop`. Calls to the daemon are not cut, because their effect would be unknown. If one hangs when the attempt
 * is stopped, what it opens is removed later.
 */
export async function openContext(options: AttemptOptions, parts: ContextParts): Promise<AttemptContext> {
  const { clock, log } = options
  const { stop } = parts
  const opening = open(options, parts)
  const settled = new AbortController()
  const hung = unlessAborted(opening, stop).catch(async (error: unknown) => {
    if (!stop.aborted) throw error
    await clock.sleep(LAST_CALL_MS, settled.signal)
    opening
      .then(({ workspace }) => workspace.close({ forget: false }))
      .catch((cause: unknown) => log.debug({ err: cause }, 'opened nothing after the stop'))
    throw error
  })
  hung.catch(() => undefined)
  try {
    return await Promise.race([opening, hung])
  } finally {
    settled.abort()
  }
}

/**
 * A full disk is retried until `toolsWaitMs` is over. The daemon has made room before it answers (images/dind/run), but a disk in a folder of a node
 * shares its space, and the cleaner of the node may free some.
 */
async function open(options: AttemptOptions, parts: ContextParts): Promise<AttemptContext> {
  const { clock, log, toolsWaitMs = 0 } = options
  const { stop } = parts
  const until = clock.monotonic() + toolsWaitMs
  for (let tries = 0; ; tries++) {
    try {
      return await prepare(options, parts)
    } catch (error) {
      if (!isDiskFull(error) || clock.monotonic() >= until || stop.aborted) throw error
      log.info({ err: error, tries }, 'the disk of the daemon is full')
      if (tries === 0) await parts.say('The disk of the build is full. Waiting for free space.')
      await clock.sleep(DISK_RETRY_MS, stop)
    }
  }
}

async function prepare(options: AttemptOptions, parts: ContextParts): Promise<AttemptContext> {
  const { input, docker, clock, log } = options
  const { end, stop, redact } = parts
  const claims = openImageClaims()
  const name = options.toolsImage ?? TOOLS_IMAGE
  // The daemon of a pod belongs to the infrastructure. On the daemon of a user, a missing image of Windlass is an ordinary `image-not-found`.
  const ours = [name, BUILDKIT_IMAGE, COSIGN_IMAGE, DEPLOY_IMAGE]
  const own = options.hostFiles === true ? [] : ours
  const onPull = async (image: string): Promise<void> => {
    if (ours.includes(image)) await parts.say(`Pulling ${image}, which is a part of Windlass. The Docker daemon keeps it.`)
  }
  const images = openStepImages({ docker, registries: input.registries, clock, log, signal: end, claims, own, onPull })
  const say = async (): Promise<void> => undefined
  await awaitImage(name, options, stop)
  const [{ id: image }] = await Promise.all([
    images.ensure({ name }, { signal: stop, say }),
    removeLeftovers(docker, input.buildId),
  ])
  const namespaces = openNamespaces(docker, input, image)
  namespaces.prepare()
  const fixed = {
    input,
    docker,
    clock,
    log,
    namespaces,
    images,
    claims,
    toolsImage: image,
    source: options.source,
    hostFiles: options.hostFiles ?? false,
    requestIdToken: options.requestIdToken,
    requestGitAccess: options.requestGitAccess,
    observer: options.observer,
    emit: (event: EngineEventBody) => void options.journal.append(redactEvent(event, redact)),
  }
  try {
    const workspace = await openWorkspace({ docker, input, image })
    if (input.webIdentityFile !== undefined)
      await keepWebIdentity({ file: input.webIdentityFile, workspace, clock, log, signal: end })
    return { ...fixed, workspace, cleanups: new Set(), deferredCleanups: new Set() }
  } catch (error) {
    await namespaces.settled()
    await removeLeftovers(docker, input.buildId).catch((cause: unknown) => log.warn({ err: cause }, 'clean-up failed'))
    throw error
  }
}

/** Delay between attempts while the disk is full. */
const DISK_RETRY_MS = 500
const POLL_MS = 100
/** How long a call to the daemon may take after the attempt was stopped. Milliseconds. */
const LAST_CALL_MS = 5_000

/** Waits for the tools image: the daemon loads it onto an empty disk only after it has started. */
async function awaitImage(name: string, { docker, clock, toolsWaitMs = 0 }: AttemptOptions, stop: AbortSignal): Promise<void> {
  const until = clock.monotonic() + toolsWaitMs
  while (clock.monotonic() < until && (await docker.inspectImage(name)) === undefined) await clock.sleep(POLL_MS, stop)
}
