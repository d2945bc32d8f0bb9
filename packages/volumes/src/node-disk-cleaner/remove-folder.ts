/**
 * Removes the folder of a disk in two steps. First it is renamed while this process holds the lock of the disk. The daemon of a build holds the
 * lock while it uses the disk, and after the rename no daemon can find it. Then the folder is deleted with idle priority, without crossing into
 * other file systems.
 */
import { execFile } from 'node:child_process'
import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { asideOf, type DiskFolder } from './folders.ts'

const run = promisify(execFile)
/** Lock file of the daemon, below the folder of the disk. See images/dind/run. */
const LOCK = '.windlass.lock'
/** Exit code that `flock` returns if another process has the lock. */
const LOCKED = 75
/** Limit of a program that runs under the lock. Milliseconds. */
const TIMEOUT_MS = 10_000

/**
 * Why a folder is kept. `lock-unreadable`: the lock file is not a regular file, as a build can replace it. `gone`: the provisioner has already
 * removed the folder.
 */
export type Hold = 'locked' | 'mounted' | 'lock-unreadable' | 'gone'

/** Returns why a folder is in use now, or undefined if it is not. Creates the lock file if it is missing. */
export async function findHold(folder: DiskFolder): Promise<Hold | undefined> {
  return underLock(folder, ['true'])
}

/** Renames the folder so that no daemon can use it. Returns undefined on success, otherwise why the folder is kept. */
export async function moveAside(folder: DiskFolder): Promise<Hold | undefined> {
  return underLock(folder, ['mv', '--no-target-directory', folder.path, asideOf(folder)])
}

/** Runs a program while holding the lock of the disk. Does not wait for the lock. Throws if the program fails or takes longer than 10 s. */
async function underLock(folder: DiskFolder, command: readonly string[]): Promise<Hold | undefined> {
  if (await isMounted(folder.path)) return 'mounted'
  const lock = join(folder.path, LOCK)
  const stat = await lstat(lock).catch(() => undefined)
  if (stat !== undefined && !stat.isFile()) return 'lock-unreadable'
  try {
    await run('flock', ['--nonblock', '--conflict-exit-code', String(LOCKED), lock, ...command], { timeout: TIMEOUT_MS })
    return undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === LOCKED) return 'locked'
    if ((await lstat(folder.path).catch(() => undefined)) === undefined) return 'gone'
    throw error
  }
}

/** Deletes the folder at `path`, which was moved aside. Can be repeated. */
export async function deleteAside(path: string, signal: AbortSignal): Promise<void> {
  const remove = ['rm', '--recursive', '--force', '--one-file-system', '--', path]
  await run('ionice', ['-c', '3', 'nice', '-n', '19', ...remove], { signal })
}

/** Returns true if something is mounted on the folder or below it, as far as this process can see. */
async function isMounted(path: string): Promise<boolean> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8')
  return mounts.split('\n').some((line) => {
    // Field 5 is the mount point. Spaces and similar characters in it are written as octal numbers.
    const point = (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    )
    return point === path || point.startsWith(`${path}/`)
  })
}
