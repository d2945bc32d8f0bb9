import { removeProjects, type Docker } from '@windlass/engine'
import { fault, type Clock } from '@windlass/kit'

const TRIES = 20
const PAUSE_MS = 250

/** Removes the containers that have all these labels, then their networks and volumes. Throws `docker-refused` when containers stay. */
export async function sweepContainers(docker: Docker, labels: readonly string[], clock: Clock): Promise<void> {
  for (let n = 0; ; n += 1) {
    const left = await docker.listContainers(labels)
    if (left.length === 0) return removeProjects(docker, labels, 0)
    if (n === TRIES)
      throw fault('docker-refused', { message: `${left.length} containers with ${labels.join(' and ')} cannot be removed.` })
    await Promise.all(left.map(({ id }) => docker.removeContainer(id)))
    if (n > 0) await clock.sleep(PAUSE_MS)
  }
}

/** The label of everything that a build has on a daemon. */
export function buildLabel(buildId: string): string {
  return `windlass.io/build=${buildId}`
}
