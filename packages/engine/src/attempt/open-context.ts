/** Prepares a daemon for an attempt: tools image, leftovers, volumes, the first network namespace. */
import type { EngineEventBody } from '@windlass/protocol'
import { TOOLS_IMAGE, type AttemptContext } from './context.ts'
import type { AttemptOptions } from './input.ts'
import { openImageClaims } from '../clean/image-claims.ts'
import { openNamespaces } from './namespaces.ts'
import { openStepImages } from './step-images.ts'
import { keepWebIdentity } from './web-identity.ts'
import { openWorkspace, removeLeftovers } from './workspace.ts'

/** Throws `StepFailure` when the tools image cannot be had, or the faults of the daemon. */
export async function openContext(options: AttemptOptions, end: AbortSignal): Promise<AttemptContext> {
  const { input, docker, clock, log } = options
  const claims = openImageClaims()
  const images = openStepImages({ docker, registries: input.registries, clock, log, signal: end, claims })
  const say = async (): Promise<void> => undefined
  const name = options.toolsImage ?? TOOLS_IMAGE
  await awaitImage(name, options)
  const [{ id: image }] = await Promise.all([
    images.ensure({ name }, { signal: end, say }),
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
    tell: (event: EngineEventBody) => void options.journal.append(event),
  }
  try {
    const workspace = await openWorkspace({ docker, input, image })
    if (input.webIdentityFile !== undefined)
      await keepWebIdentity({ file: input.webIdentityFile, workspace, clock, log, signal: end })
    return { ...fixed, workspace, chores: new Set(), patientChores: new Set() }
  } catch (error) {
    await namespaces.settled()
    await removeLeftovers(docker, input.buildId).catch((cause: unknown) => log.warn({ err: cause }, 'clean-up failed'))
    throw error
  }
}

const LOOK_MS = 100

/** An empty disk gets the tools image only after the daemon has come up. */
async function awaitImage(name: string, { docker, clock, signal, toolsWaitMs = 0 }: AttemptOptions): Promise<void> {
  const until = clock.monotonic() + toolsWaitMs
  while (clock.monotonic() < until && (await docker.inspectImage(name)) === undefined) await clock.sleep(LOOK_MS, signal)
}
