/** Removes what a run has on the daemon. */
import type { Docker } from '@windlass/engine/docker'
import { refusalStatus } from '@windlass/engine/docker'
import type { Clock } from '@windlass/kit'
import { LABEL_PART, LABEL_RUN, LABEL_STARTED } from './containers.ts'

/** Number of tries for a volume that the daemon still counts as used, and the wait between them. Milliseconds. */
const TRIES = 20
const WAIT_MS = 100

/** Removes the containers and volumes with these labels. */
export async function removeAll(docker: Docker, labels: readonly string[], clock: Clock): Promise<void> {
  for (const { id } of await docker.listContainers(labels)) await docker.removeContainer(id)
  for (const { name } of await docker.listUnusedVolumes(labels)) await removeVolume(docker, name, clock)
}

async function removeVolume(docker: Docker, name: string, clock: Clock): Promise<void> {
  for (let n = 1; ; n += 1) {
    try {
      return await docker.removeVolume(name)
    } catch (error) {
      if (refusalStatus(error) !== 409 || n >= TRIES) throw error
      await clock.sleep(WAIT_MS)
    }
  }
}

/**
 * A run without a running helper and of this age has ended: a command that was killed cannot remove its own. A younger one may still copy its sources or artifacts.
 * Milliseconds.
 */
const OLD_MS = 24 * 60 * 60_000

/** Removes what killed commands have left. Leaves runs of other commands alone. */
export async function removeLeftovers(docker: Docker, clock: Clock): Promise<void> {
  const containers = await docker.listContainers([LABEL_RUN])
  const volumes = await docker.listUnusedVolumes([LABEL_RUN])
  const runs = new Map([...containers, ...volumes].map(({ labels }) => [labels[LABEL_RUN] ?? '', Number(labels[LABEL_STARTED])]))
  for (const [run, startedAt] of runs) {
    const isAlive = containers.some(
      ({ labels, isRunning }) => labels[LABEL_RUN] === run && labels[LABEL_PART] === 'helper' && isRunning,
    )
    if (!isAlive && clock.now() - startedAt > OLD_MS) await removeAll(docker, [`${LABEL_RUN}=${run}`], clock)
  }
}
