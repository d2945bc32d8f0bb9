/** Removes the chosen objects one by one. An object that the daemon refuses to remove is skipped. */
import type { Clock, Logger } from '@windlass/kit'
import type { DaemonState, Removal } from '@windlass/volumes/clean'
import type { AttemptContext } from '../attempt/context.ts'
import { refusalStatus } from '../docker/containers.ts'
import type { Docker } from '../docker/docker.ts'
import type { ImageClaims } from './image-claims.ts'
import { LABEL_BUILD } from '../attempt/labels.ts'

export interface CarryOut {
  readonly docker: Docker
  readonly claims: ImageClaims
  readonly clock: Clock
  readonly log: Logger
  readonly dryRun: boolean
  readonly signal: AbortSignal
}

/** Removes the objects in the given order. Returns the number of removed objects. */
export async function carryOut(options: CarryOut, removals: readonly Removal[]): Promise<number> {
  let removed = 0
  for (const removal of removals) {
    if (options.signal.aborted) return removed
    if (await remove(options, removal)) removed += 1
  }
  return removed
}

async function remove({ docker, claims, log, dryRun }: CarryOut, removal: Removal): Promise<boolean> {
  log.info({ ...removal, dryRun }, 'disk cleaner removes an object')
  if (dryRun) return false
  try {
    if (removal.kind === 'volume') await docker.removeVolume(removal.name)
    else if (removal.kind === 'cache') await docker.pruneBuildCache(removal.keepBytes)
    else return await claims.remove(removal.id, () => docker.dropImage(removal.id))
    return true
  } catch (error) {
    if (refusalStatus(error) === undefined) throw error
    log.debug({ err: error, ...removal }, 'the daemon refused a removal')
    return false
  }
}

/** Returns the objects of the daemon and which of them the build needs. */
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

/** Returns the volumes that the build needs even while no container uses them. */
function ownVolumes({ buildId, volumeName }: AttemptContext['input']): string[] {
  return [volumeName, `windlass-build-${buildId}`, `windlass-sensitive-${buildId}`]
}

/** Removes exited containers of other builds. The engine may still read the exit status of its own. */
export async function removeEnded({ docker, input }: Pick<AttemptContext, 'docker' | 'input'>): Promise<number> {
  const ended = (await docker.listHeldContainers()).filter(
    ({ exited, labels }) => exited && labels[LABEL_BUILD] !== input.buildId,
  )
  for (const { id } of ended) await docker.removeContainer(id)
  return ended.length
}
