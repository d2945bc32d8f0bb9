/**
 * What of a daemon may be removed (runner specification 5.8). Names are compared whole. Nothing that a container has is ever chosen:
 * containers go first, and what those that stay use stays with them.
 */
import type { UseHistory } from './history.ts'
import type { CleanSettings } from './settings.ts'

export interface DaemonImage {
  readonly id: string
  /** Id of the image it was built on; empty for none. */
  readonly parentId: string
  /** `repository:tag` and `repository@digest`. */
  readonly names: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** Epoch seconds. */
  readonly createdAt: number
}

export interface DaemonVolume {
  readonly name: string
  /** Epoch seconds; undefined when the daemon does not say. */
  readonly createdAt: number | undefined
}

export interface DaemonState {
  readonly images: readonly DaemonImage[]
  readonly volumes: readonly DaemonVolume[]
  /** Ids of images and names of volumes that containers have, running or not, or that the build needs. */
  readonly imagesInUse: ReadonlySet<string>
  readonly volumesInUse: ReadonlySet<string>
}

export interface Choice {
  readonly history: UseHistory
  readonly settings: CleanSettings
  readonly nowSeconds: number
}

/** Repositories of the tools that builds need again and again; also with the domain of a registry in front. */
const TOOLS = [
  'windlass/tools',
  'windlass/buildkit',
  'windlass/cosign',
  'windlass/deploy',
  'codefresh/fs-ops',
  'codefresh/pikolo',
  'quay.io/codefresh/fs-ops',
  'quay.io/codefresh/pikolo',
  'docker.io/codefresh/fs-ops',
  'docker.io/codefresh/pikolo',
]
/** An image with this label is a tool as well. */
const TOOL_LABEL = { name: 'io.codefresh.engine', value: 'true' }
/** Images that only carried files out of a build. */
export const EXPORT_LABEL = { name: 'io.codefresh.operationName', value: 'Exporting volume data' }
/** The purge takes every image that nobody has and that is older than this. */
const PURGE_SECONDS = 3 * 3_600

/** Images to remove in this order, children before parents; `failed` removals need not stop the rest. */
export function chooseImages(state: DaemonState, { history, settings, nowSeconds }: Choice): DaemonImage[] {
  const since = nowSeconds - settings.imageRetainSeconds
  const used = history.since('image', since)
  const isUsed = ({ id, names }: DaemonImage): boolean => used.has(id) || names.some((name) => isNamed(name, used))
  return leavesFirst(state, (image) => isUsed(image) || image.createdAt >= since)
}

/** When nothing else has helped: every image but tools, young ones and those in use. */
export function choosePurge(state: DaemonState, nowSeconds: number): DaemonImage[] {
  return leavesFirst(state, ({ createdAt }) => createdAt >= nowSeconds - PURGE_SECONDS)
}

/** Images that only carried files; they go at the end of every build. */
export function chooseExports(state: DaemonState): DaemonImage[] {
  return state.images.filter(({ id, labels }) => labels[EXPORT_LABEL.name] === EXPORT_LABEL.value && !state.imagesInUse.has(id))
}

/** Volumes to remove. */
export function chooseVolumes(state: DaemonState, { history, settings, nowSeconds }: Choice): DaemonVolume[] {
  const since = nowSeconds - settings.volumesRetainSeconds
  const used = history.since('volume', since)
  return state.volumes.filter(
    ({ name, createdAt }) => !state.volumesInUse.has(name) && !used.has(name) && (createdAt ?? -Infinity) < since,
  )
}

/** Without those that are kept, and all that those stand on. */
function leavesFirst({ images, imagesInUse }: DaemonState, isKept: (image: DaemonImage) => boolean): DaemonImage[] {
  const byId = new Map(images.map((image) => [image.id, image]))
  const lineOf = (image: DaemonImage): DaemonImage[] => {
    const line = [image]
    for (let next = byId.get(image.parentId); next !== undefined && !line.includes(next); next = byId.get(next.parentId))
      line.push(next)
    return line
  }
  const kept = new Set<DaemonImage>()
  for (const image of images)
    if (imagesInUse.has(image.id) || isTool(image) || isKept(image)) for (const each of lineOf(image)) kept.add(each)
  return images.filter((image) => !kept.has(image)).toSorted((a, b) => lineOf(b).length - lineOf(a).length)
}

function isTool({ names, labels }: DaemonImage): boolean {
  return labels[TOOL_LABEL.name] === TOOL_LABEL.value || names.some((name) => TOOLS.includes(repositoryOf(name)))
}

function repositoryOf(name: string): string {
  const [repository = ''] = name.split('@')
  const colon = repository.lastIndexOf(':')
  return colon > repository.lastIndexOf('/') ? repository.slice(0, colon) : repository
}

/** People write `alpine` for what the daemon lists as `alpine:latest`, and `docker.io/library/alpine` for either. */
function isNamed(listed: string, used: ReadonlySet<string>): boolean {
  const short = listed.endsWith(':latest') ? [listed, listed.slice(0, -':latest'.length)] : [listed]
  return short.some((name) => ['', 'docker.io/', 'docker.io/library/', 'library/'].some((prefix) => used.has(prefix + name)))
}
