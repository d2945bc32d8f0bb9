/** Reads the folders of disks on a node and the marks in them. Links are never followed. */
import { lstat, readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode } from '@windlass/kit'

export interface DiskFolder {
  readonly path: string
  /** Epoch seconds; undefined if the disk has no such mark. */
  readonly createdAt: number | undefined
  readonly lastUsedAt: number | undefined
  /** Time at which it was marked for removal. */
  readonly deletedAt: number | undefined
  readonly mounts: number
}

/** Percentages in use, rounded up like df: 0 to 100. */
export interface FileSystemUse {
  readonly kb: number
  readonly inodes: number
}

/** Prefix of folders that are being removed, which no disk has. */
const ASIDE = '.removing-'
/** Maximum size of a mark. Marks are a few numbers, but a build may have written anything. */
const MAX_BYTES = 1_048_576

export async function readUse(parentDir: string): Promise<FileSystemUse> {
  const { blocks, bfree, bavail, files, ffree } = await statfs(parentDir)
  return { kb: percent(blocks - bfree, bavail), inodes: percent(files - ffree, ffree) }
}

function percent(used: number, free: number): number {
  return used + free === 0 ? 0 : Math.ceil((100 * used) / (used + free))
}

/** Returns the folders that match `vol-*`; none if the parent does not exist yet. */
export async function readFolders(parentDir: string, pattern: string): Promise<DiskFolder[]> {
  const begin = pattern.slice(0, -1)
  const names = await namesIn(parentDir, (name) => name.startsWith(begin))
  return Promise.all(names.map((name) => readFolder(join(parentDir, name))))
}

/** Returns folders whose removal has started. */
export async function readAside(parentDir: string): Promise<string[]> {
  return (await namesIn(parentDir, (name) => name.startsWith(ASIDE))).map((name) => join(parentDir, name))
}

export function asideOf(folder: DiskFolder): string {
  const at = folder.path.lastIndexOf('/')
  return `${folder.path.slice(0, at)}/${ASIDE}${folder.path.slice(at + 1)}`
}

async function namesIn(parentDir: string, isWanted: (name: string) => boolean): Promise<string[]> {
  const entries = await readdir(parentDir, { withFileTypes: true }).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  })
  return entries.filter((entry) => entry.isDirectory() && isWanted(entry.name)).map(({ name }) => name)
}

async function readFolder(path: string): Promise<DiskFolder> {
  const [own, inside] = [path, join(path, 'dind-volume')]
  // The daemon's pod writes its marks below `dind-volume`; older disks have them in the folder itself.
  const read = async (name: string): Promise<string> => (await readMark(own, name)) || (await readMark(inside, name))
  const [created, lastUsed, deleted, pods] = await Promise.all([
    read('created'),
    read('last_used'),
    readMark(own, 'deleted'),
    read('pods'),
  ])
  return {
    path,
    createdAt: toSeconds(created),
    lastUsedAt: toSeconds(lastUsed),
    deletedAt: toSeconds(deleted),
    mounts: pods.split('\n').filter((line) => line.trim() !== '').length,
  }
}

/** Reads the first column of the last line. */
function toSeconds(text: string): number | undefined {
  const value = Number(text.trim().split('\n').at(-1)?.trim().split(/\s+/)[0] || Number.NaN)
  return Number.isFinite(value) && value > 0 ? value : undefined
}

async function readMark(folder: string, name: string): Promise<string> {
  const path = join(folder, name)
  const stat = await lstat(path).catch(() => undefined)
  if (stat === undefined || !stat.isFile() || stat.size > MAX_BYTES) return ''
  return readFile(path, 'utf8').catch(() => '')
}

/** Marks a folder for removal. An existing file or link is removed first, and `wx` refuses to follow one created meanwhile. */
export async function markDeleted({ path }: DiskFolder, nowSeconds: number): Promise<void> {
  await unmark(path)
  await writeFile(join(path, 'deleted'), `${Math.floor(nowSeconds)}\n`, { flag: 'wx' })
}

export async function unmark(path: string): Promise<void> {
  await rm(join(path, 'deleted'), { force: true })
}
