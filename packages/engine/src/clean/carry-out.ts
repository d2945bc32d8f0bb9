/** Carries out what was chosen, one thing after another; what cannot go stays, and the rest goes on. */
import type { Clock, Logger } from '@windlass/kit'
import type { DaemonState, Removal } from '@windlass/volumes/clean'
import { LABEL_BUILD, type AttemptContext } from '../attempt/context.ts'
import { refusalStatus } from '../docker/containers.ts'
import type { Docker } from '../docker/docker.ts'
import type { ImageClaims } from './image-claims.ts'

export interface CarryOut {
  readonly docker: Docker
  readonly claims: ImageClaims
  readonly clock: Clock
  readonly log: Logger
  readonly dryRun: boolean
  readonly signal: AbortSignal
}

/** Removes in the given order; answers how many are gone. */
export async function carryOut(options: CarryOut, removals: readonly Removal[]): Promise<number> {
  let gone = 0
  for (const removal of removals) {
    if (options.signal.aborted) return gone
    if (await remove(options, removal)) gone += 1
  }
  return gone
}

async function remove({ docker, claims, log, dryRun }: CarryOut, removal: Removal): Promise<boolean> {
  log.info({ ...removal, dryRun }, 'disk cleaner removes')
  if (dryRun) return false
  try {
    if (removal.kind === 'volume') await docker.removeVolume(removal.name)
    else if (removal.kind === 'cache') await docker.pruneBuildCache(removal.keepBytes)
    else return await claims.remove(removal.id, () => docker.dropImage(removal.id))
    return true
  } catch (error) {
    if (refusalStatus(error) === undefined) throw error
    log.debug({ err: error, ...removal }, 'disk cleaner was refused')
    return false
  }
}

/** What the daemon has now, and what of it the build needs. */
export async function readDaemon(
  { docker, input }: Pick<AttemptContext, 'docker' | 'input'>,
  claims: ImageClaims,
): Promise<DaemonState> {
  const [containers, images, volumes] = await Promise.all([
    docker.listHeldContainers(),
    docker.listHeldImages(),
    docker.listHeldVolumes(),
  ])
  return {
    images,
    volumes,
    imagesInUse: new Set([...containers.map(({ imageId }) => imageId), ...claims.claimed()]),
    volumesInUse: new Set([...containers.flatMap((container) => container.volumes), ...ownVolumes(input)]),
  }
}

/** Volumes that the build comes back to though no container has them for a moment. */
function ownVolumes({ buildId, volumeName }: AttemptContext['input']): string[] {
  return [volumeName, `windlass-build-${buildId}`, `windlass-sensitive-${buildId}`]
}

/** Removes containers that have ended, but for those of the build itself: the engine may still ask how they ended. */
export async function removeEnded({ docker, input }: Pick<AttemptContext, 'docker' | 'input'>): Promise<number> {
  const ended = (await docker.listHeldContainers()).filter(
    ({ exited, labels }) => exited && labels[LABEL_BUILD] !== input.buildId,
  )
  for (const { id } of ended) await docker.removeContainer(id)
  return ended.length
}
