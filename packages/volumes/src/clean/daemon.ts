/**
 * Chooses what to remove from a daemon. Names are compared as a whole. Nothing that a container uses is ever chosen: containers are removed
 * first, and the images and volumes of the remaining ones are kept.
 */
import type { UseHistory } from './history.ts'
import type { CleanSettings } from './settings.ts'

export interface DaemonImage {
  readonly id: string
  /** Id of the parent image; empty for none. */
  readonly parentId: string
  /** `repository:tag` and `repository@digest`. */
  readonly names: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** Epoch seconds. */
  readonly createdAt: number
}

export interface DaemonVolume {
  readonly name: string
  /** Epoch seconds; undefined if the daemon does not report it. */
  readonly createdAt: number | undefined
}

export interface DaemonState {
  readonly images: readonly DaemonImage[]
  readonly volumes: readonly DaemonVolume[]
  /** Ids of images and names of volumes that the build or its containers use, running or not. */
  readonly imagesInUse: ReadonlySet<string>
  readonly volumesInUse: ReadonlySet<string>
}

export interface Choice {
  readonly history: UseHistory
  readonly settings: CleanSettings
  readonly nowSeconds: number
}

/** Repositories of tools that most builds need; also with a registry host in front. */
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
/** Images with this label are tools too. */
const TOOL_LABEL = { name: 'io.codefresh.engine', value: 'true' }

/** The purge removes every unused image older than this. */
const PURGE_SECONDS = 3 * 3_600

/** Returns the images to remove in this order, children before parents. A removal that fails does not have to stop the rest. */
export function chooseImages(state: DaemonState, { history, settings, nowSeconds }: Choice): DaemonImage[] {
  const since = nowSeconds - settings.imageRetainSeconds
  const used = history.since('image', since)
  const isUsed = ({ id, names }: DaemonImage): boolean => used.has(id) || names.some((name) => isNamed(name, used))
  return leavesFirst(state, (image) => isUsed(image) || image.createdAt >= since)
}

/** Returns the images to remove if nothing else has helped: all but tools, young ones and those in use. */
export function choosePurge(state: DaemonState, nowSeconds: number): DaemonImage[] {
  return leavesFirst(state, ({ createdAt }) => createdAt >= nowSeconds - PURGE_SECONDS)
}

/** Returns the volumes to remove. */
export function chooseVolumes(state: DaemonState, { history, settings, nowSeconds }: Choice): DaemonVolume[] {
  const since = nowSeconds - settings.volumesRetainSeconds
  const used = history.since('volume', since)
  return state.volumes.filter(
    ({ name, createdAt }) => !state.volumesInUse.has(name) && !used.has(name) && (createdAt ?? -Infinity) < since,
  )
}

/** Returns the images that are not kept and are not ancestors of kept ones, children before parents. */
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

/** Whether a listed name was used under one of its spellings: `alpine` and `docker.io/library/alpine` mean `alpine:latest`. */
function isNamed(listed: string, used: ReadonlySet<string>): boolean {
  const short = listed.endsWith(':latest') ? [listed, listed.slice(0, -':latest'.length)] : [listed]
  return short.some((name) => ['', 'docker.io/', 'docker.io/library/', 'library/'].some((prefix) => used.has(prefix + name)))
}
