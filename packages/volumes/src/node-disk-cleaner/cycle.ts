/**
 * One check of the disks of a node. A disk is removed only if two facts agree that it is unused: no claim holds its volume, and no daemon
 * holds its lock. The removal is written on the volume by compare-and-swap before anything is changed, so that no build can choose the disk
 * any more.
 */
import { attempt, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import { isClaimed } from '../pool/disk.ts'
import { NOTE } from '../pool/notes.ts'
import { localPathOf, toVolume, type Volume } from '../pool/volume.ts'
import { byLastUse, isDue, isOver, type Limits } from './choose.ts'
import type { NodeDiskCleanerConfig } from './config.ts'
import { asideOf, markDeleted, readAside, readFolders, readUse, unmark, type DiskFolder } from './folders.ts'
import { deleteAside, findHold, moveAside } from './remove-folder.ts'

export interface CycleOptions {
  readonly config: NodeDiskCleanerConfig
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** True while nothing may be removed. It may change during a check. */
  readonly isPaused?: () => boolean
}

/** Result of the check of a disk. */
type Result = 'removed' | 'marked' | 'kept'

/** Checks the disks once, and removes some until the use is below the target. Returns the number of removed disks. */
export async function runCycle(options: CycleOptions): Promise<number> {
  const { config, signal, isPaused } = options
  const mustStop = (): boolean => signal.aborted || isPaused?.() === true
  for (const path of await readAside(config.PARENT_DIR)) await deleteAside(path, signal)
  const folders = await readFolders(config.PARENT_DIR, config.DIR_PATTERN)
  const marked = folders.filter((folder) => isDue(folder, config.GRACE_SECONDS, nowSeconds(options)))
  const isFull = isOver(await readUse(config.PARENT_DIR), limits(config, 'threshold'))
  if (marked.length === 0 && !isFull) return 0
  const volumes = await volumesByPath(options)
  let removed = 0
  for (const folder of marked) if (!mustStop() && (await consider(options, folder, volumes)) === 'removed') removed += 1
  if (!isFull) return removed
  for (const folder of byLastUse(folders)) {
    if (mustStop() || !isOver(await readUse(config.PARENT_DIR), limits(config, 'target'))) break
    const result = await consider(options, folder, volumes)
    if (result === 'removed') removed += 1
    // In a dry run the use never falls.
    if (result === 'removed' && config.DRY_RUN) break
  }
  return removed
}

function limits(config: NodeDiskCleanerConfig, which: 'threshold' | 'target'): Limits {
  const { KB_THRESHOLD, INODE_THRESHOLD, KB_TARGET = KB_THRESHOLD, INODE_TARGET = INODE_THRESHOLD } = config
  return which === 'threshold' ? { kb: KB_THRESHOLD, inodes: INODE_THRESHOLD } : { kb: KB_TARGET, inodes: INODE_TARGET }
}

async function volumesByPath({ kube, signal }: CycleOptions): Promise<ReadonlyMap<string, Volume>> {
  const objects = await kube.list({ kind: 'PersistentVolume', labels: `${LABEL.volumeApp}=dind` }, signal)
  return new Map(objects.map(toVolume).map((volume) => [localPathOf(volume) ?? '', volume]))
}

async function consider(options: CycleOptions, folder: DiskFolder, volumes: ReadonlyMap<string, Volume>): Promise<Result> {
  const { log } = options
  try {
    const volume = volumes.get(folder.path)
    return volume === undefined ? await considerOrphan(options, folder) : await considerDisk(options, folder, volume)
  } catch (error) {
    if (options.signal.aborted) throw error
    log.warn({ err: error, path: folder.path }, 'failed to remove a disk')
    return 'kept'
  }
}

/** Handles a folder without a volume. It is marked and removed after a grace period, because its volume may be about to be created. */
async function considerOrphan(options: CycleOptions, folder: DiskFolder): Promise<Result> {
  const { config, log } = options
  if (isDue(folder, config.GRACE_SECONDS, nowSeconds(options))) return removeFolder(options, folder)
  if (folder.deletedAt !== undefined) return 'kept'
  log.info({ path: folder.path, dryRun: config.DRY_RUN }, 'marking a folder without a volume')
  if (!config.DRY_RUN) await markDeleted(folder, nowSeconds(options))
  return 'marked'
}

async function considerDisk(options: CycleOptions, folder: DiskFolder, seen: Volume): Promise<Result> {
  const { config, kube, log, signal } = options
  const ref = { kind: 'PersistentVolume', name: seen.metadata.name } as const
  const found = await kube.find(ref, signal)
  if (found === undefined) return 'kept'
  const volume = toVolume(found)
  const hold = (await holdOf(options, volume)) ?? (await findHold(folder))
  if (hold !== undefined) {
    log.debug({ path: folder.path, volume: ref.name, hold }, 'disk is kept')
    if (folder.deletedAt !== undefined && hold === 'claimed') await unmark(folder.path)
    return 'kept'
  }
  if (config.DRY_RUN) {
    log.info({ path: folder.path, volume: ref.name, dryRun: true }, 'disk would be removed')
    return 'removed'
  }
  await markDeleted(folder, nowSeconds(options))
  if (!(await requestDeletion(options, volume))) {
    await unmark(folder.path)
    return 'kept'
  }
  const result = await removeFolder(options, folder)
  // Without a provisioner nothing else deletes the volume. If this fails, no build takes the volume anyway.
  if (result === 'removed') await attempt(log, 'delete volume', () => kube.delete(ref, { uid: volume.metadata.uid, signal }))
  return result
}

/** Returns why a disk must be kept now, or undefined. */
async function holdOf({ config, kube, clock, signal }: CycleOptions, volume: Volume): Promise<string | undefined> {
  const { annotations } = volume.metadata
  const node = annotations[NOTE.node]
  if (node !== undefined && node !== config.NODE_NAME) return 'other-node'
  if (Date.parse(annotations[NOTE.keptUntil] ?? '') > clock.now()) return 'kept-for-a-build'
  return (await isClaimed(kube, volume, signal)) ? 'claimed' : undefined
}

/** Requests the removal on the volume; no build takes the disk after that. Returns false if another writer was faster. */
async function requestDeletion({ config, kube, clock, signal }: CycleOptions, volume: Volume): Promise<boolean> {
  const { name, resourceVersion } = volume.metadata
  const annotations = { [NOTE.deletion]: config.NODE_NAME, [NOTE.removing]: new Date(clock.now()).toISOString() }
  const patch = { metadata: { resourceVersion, annotations }, spec: { persistentVolumeReclaimPolicy: 'Delete' } }
  try {
    await kube.patch({ kind: 'PersistentVolume', name }, patch, { signal })
    return true
  } catch (error) {
    if (isFault(error, 'conflict', 'not-found')) return false
    throw error
  }
}

async function removeFolder({ config, log, signal, clock }: CycleOptions, folder: DiskFolder): Promise<Result> {
  if (config.DRY_RUN) {
    log.info({ path: folder.path, dryRun: true }, 'folder would be removed')
    return 'removed'
  }
  const hold = await moveAside(folder)
  if (hold === 'gone') return 'removed'
  if (hold !== undefined) {
    log.warn({ path: folder.path, hold }, 'folder is in use')
    return 'kept'
  }
  const startedAt = clock.monotonic()
  await deleteAside(asideOf(folder), signal)
  log.info({ path: folder.path, lastUsedAt: folder.lastUsedAt, ms: Math.round(clock.monotonic() - startedAt) }, 'disk removed')
  return 'removed'
}

function nowSeconds({ clock }: CycleOptions): number {
  return clock.now() / 1000
}
