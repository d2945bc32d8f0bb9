/** Parts of the shared volume at other places of a container (`volumes` of freestyle steps). */
import { VOLUME_PATH, type Mount } from '@windlass/plan'
import { StepFailure, type AttemptContext } from '../attempt/context.ts'
import { archive } from '../attempt/workspace.ts'
import type { ContainerMount } from '../docker/containers.ts'

/**
 * The mounts as the daemon takes them: sub-paths of the volume from API 1.45 on, before that binds below its mountpoint. A folder that does not
 * exist is made. Throws `StepFailure` (`mount-invalid`) when a link stands in the way: it could lead out of the volume.
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
