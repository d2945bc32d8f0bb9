/** Mounts parts of the shared volume at other paths of a container (`volumes` of freestyle steps). */
import { VOLUME_PATH, type Mount } from '@windlass/plan'
import type { AttemptContext } from '../attempt/context.ts'
import { archive } from '../attempt/workspace.ts'
import type { ContainerMount } from '../docker/containers.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

/**
 * Converts mounts for the daemon: subpaths of the volume since API 1.45, otherwise binds below its mountpoint. Creates missing folders. Throws
 * `StepFailure` (`mount-invalid`) if a path contains a link, which could lead out of the volume.
 */
export async function toMounts(context: AttemptContext, mounts: readonly Mount[]): Promise<ContainerMount[]> {
  const found: ContainerMount[] = []
  for (const mount of mounts) found.push(await toMount(context, mount))
  return found
}

async function toMount(
  { docker, workspace, input }: AttemptContext,
  { source, target, readOnly }: Mount,
): Promise<ContainerMount> {
  const volume = { type: 'volume', source: input.volumeName, target, readOnly } as const
  if (source === '') return volume
  const parts = source.split('/')
  for (const depth of parts.keys()) {
    const path = parts.slice(0, depth + 1).join('/')
    const stat = await workspace.stat(`${VOLUME_PATH}/${path}`)
    if (stat === undefined) {
      await workspace.unpack(VOLUME_PATH, await archive((tar) => tar.entry({ name: source, type: 'directory' })))
      break
    }
    if (stat.linkTarget !== '')
      throw new StepFailure('mount-invalid', `${VOLUME_PATH}/${path} is a symbolic link; a volume cannot be mounted through it.`)
  }
  return docker.hasApi('1.45')
    ? { ...volume, subpath: source }
    : { type: 'bind', source: `${workspace.mountpoint}/${source}`, target, readOnly }
}
