/** Removes what old builds left on a daemon: killed engines cannot clean up after themselves. */
import type { Clock } from '@windlass/kit'
import type { Docker } from '../docker/docker.ts'
import { LABEL_PROJECT, removeProjects } from '../compose/remove-project.ts'
import { LABEL_BUILD, LABEL_ENVIRONMENT, LABEL_EXPIRES } from '../attempt/labels.ts'

/** Longer than any build runs (24 h by default). */
const OLD_MS = 3 * 86_400_000

/** Removes containers, networks and volumes of builds that started at least three days ago. Skips those in use. */
export async function sweepOld(docker: Docker, clock: Clock): Promise<void> {
  const isOld = (labels: Readonly<Record<string, string>>): boolean => clock.now() - beginOf(labels[LABEL_BUILD] ?? '') > OLD_MS
  for (const { id, labels } of await docker.listContainers([LABEL_BUILD])) if (isOld(labels)) await docker.removeContainer(id)
  for (const { id, labels } of await docker.listNetworks([LABEL_BUILD])) if (isOld(labels)) await docker.removeNetwork(id)
  for (const { name, labels } of await docker.listUnusedVolumes([LABEL_BUILD])) if (isOld(labels)) await docker.removeVolume(name)
}

/** Removes expired launched environments. */
export async function sweepEnvironments(docker: Docker, clock: Clock): Promise<void> {
  const expired = new Set<string>()
  for (const { labels } of await docker.listContainers([LABEL_ENVIRONMENT]))
    if (Number(labels[LABEL_EXPIRES] ?? Infinity) * 1000 < clock.now()) expired.add(labels[LABEL_PROJECT] ?? '')
  for (const project of expired) await removeProjects(docker, [LABEL_ENVIRONMENT, `${LABEL_PROJECT}=${project}`], 0)
}

/** Returns the creation time of a build. Ids start with it, in seconds. */
function beginOf(buildId: string): number {
  return /^[0-9a-f]{24}$/.test(buildId) ? Number.parseInt(buildId.slice(0, 8), 16) * 1000 : Infinity
}
