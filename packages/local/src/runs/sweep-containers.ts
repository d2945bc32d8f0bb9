import { removeProjects, type Docker } from '@windlass/engine'
import { fault, type Clock } from '@windlass/kit'

const MAX_ATTEMPTS = 20
const PAUSE_MS = 250

/** Removes the containers that have all these labels, then their networks and volumes. Throws `docker-refused` if containers remain. */
export async function sweepContainers(docker: Docker, labels: readonly string[], clock: Clock): Promise<void> {
  for (let n = 0; ; n += 1) {
    const left = await docker.listContainers(labels)
    if (left.length === 0) return removeProjects(docker, labels, 0)
    if (n === MAX_ATTEMPTS)
      throw fault('docker-refused', {
        message: `Cannot remove ${left.length} containers with the labels ${labels.join(' and ')}.`,
      })
    await Promise.all(left.map(({ id }) => docker.removeContainer(id)))
    if (n > 0) await clock.sleep(PAUSE_MS)
  }
}

/** Returns the label of everything that belongs to a build on a daemon. */
export function buildLabel(buildId: string): string {
  return `windlass.io/build=${buildId}`
}
