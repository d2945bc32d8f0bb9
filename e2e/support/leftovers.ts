/**
 * Removes what a test created from the Docker daemon of this machine, by the names that the test chose. An unreachable daemon is not an error,
 * because it has nothing to remove.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram } from './process.ts'

const docker = (...args: string[]): Promise<string> => runProgram('docker', args).catch(() => '')
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')

/** Removes every tag and digest of the repositories for which `isMade` holds. */
export async function removeImages(isMade: (repository: string) => boolean): Promise<void> {
  await removeUntilGone(async () => (await listImages()).filter(({ repository }) => isMade(repository)))
}

const PATIENCE_MS = 30_000
const LIST_TRIES = 4

interface Image {
  readonly repository: string
  /** `REPOSITORY:TAG`, or `REPOSITORY@DIGEST` of an image without a tag. */
  readonly reference: string
}

/** Removes images, again while the daemon refuses because a container of one is still ending. Those that are left are for the check of the whole run. */
async function removeUntilGone(list: () => Promise<readonly Image[]>): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  let left = await list()
  while (left.length > 0 && performance.now() < until) {
    await docker('rmi', '--force', ...left.map(({ reference }) => reference))
    left = await list()
    if (left.length > 0) await sleep(500)
  }
}

/** Records the existing images of repositories that begin with `prefix`. The returned function removes newer ones. */
export async function noteImages(prefix: string): Promise<() => Promise<void>> {
  const before = new Set((await listImages()).map(({ reference }) => reference))
  const isNew = ({ repository, reference }: Image): boolean => repository.startsWith(prefix) && !before.has(reference)
  return () => removeUntilGone(async () => (await listImages()).filter(isNew))
}

/** A busy daemon fails a list when another client removes an image in the middle of it. An empty list would then leave all images behind. */
async function listImages(): Promise<Image[]> {
  const args = ['images', '--digests', '--format', '{{.Repository}} {{.Tag}} {{.Digest}}']
  let output: string | undefined
  for (let tries = 0; output === undefined && tries < LIST_TRIES; tries++) {
    if (tries > 0) await sleep(500)
    output = await runProgram('docker', args).catch(() => undefined)
  }
  return linesOf(output ?? '').flatMap((line) => {
    const [repository = '', tag = '', digest = ''] = line.split(' ')
    if (repository === '<none>') return []
    if (tag !== '<none>') return [{ repository, reference: `${repository}:${tag}` }]
    return digest === '<none>' ? [] : [{ repository, reference: `${repository}@${digest}` }]
  })
}

/** Removes the containers of builds and the volumes that the engine named after them. The ids are those of builds and of pipelines. */
export async function removeBuilds(ids: readonly string[]): Promise<void> {
  const volumes = ids.flatMap((id) => [`windlass-build-${id}`, `windlass-${id}`, `windlass-sensitive-${id}`])
  await removeVolumes(volumes, async () => {
    for (const id of ids) {
      const containers = linesOf(await docker('ps', '--all', '--quiet', '--filter', `label=windlass.io/build=${id}`))
      if (containers.length > 0) await docker('rm', '--force', '--volumes', ...containers)
    }
  })
}

/**
 * Removes volumes, again while the daemon refuses because a container of one is still ending: `removeContainers` runs before each try. Missing ones are not an error. Those that are left are for the
 * check of the whole run.
 */
export async function removeVolumes(
  names: readonly string[],
  removeContainers: () => Promise<void> = async () => undefined,
): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  for (let left = names; left.length > 0 && performance.now() < until;) {
    await removeContainers()
    await docker('volume', 'rm', '--force', ...left)
    const present = new Set(await listVolumes('windlass'))
    left = left.filter((name) => present.has(name))
    if (left.length > 0) await sleep(500)
  }
}

/** Returns the names of the volumes that contain the text. */
export async function listVolumes(part: string): Promise<string[]> {
  return linesOf(await docker('volume', 'ls', '--quiet', '--filter', `name=${part}`))
}
