/**
 * Removes the folder of a disk. First it is renamed under the lock that the daemon of a build holds while it runs: the holder of the lock
 * uses the disk, and after the rename no daemon can start to use it. Then it is deleted with idle priority, without crossing into other
 * file systems.
 */
import { execFile } from 'node:child_process'
import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { asideOf, type DiskFolder } from './folders.ts'

const run = promisify(execFile)
/** Lock file of the daemon's pod, see images/dind/run. */
const LOCK = '.windlass.lock'
const LOCKED = 75
const RENAME_MS = 10_000

/** Why a folder is kept; `gone` means that the provisioner has already removed it. */
export type Hold = 'locked' | 'mounted' | 'lock-unreadable' | 'gone'

/** Returns why a folder is in use now, or undefined if it is not. */
export async function findHold(folder: DiskFolder): Promise<Hold | undefined> {
  return underLock(folder, ['true'])
}

/** Renames the folder so that no daemon can use it. Returns undefined on success, else what holds it. */
export async function moveAside(folder: DiskFolder): Promise<Hold | undefined> {
  return underLock(folder, ['mv', '--no-target-directory', folder.path, asideOf(folder)])
}

/** Runs a program with the lock of the disk; does not wait for the lock. */
async function underLock(folder: DiskFolder, command: readonly string[]): Promise<Hold | undefined> {
  if (await isMounted(folder.path)) return 'mounted'
  const lock = join(folder.path, LOCK)
  const stat = await lstat(lock).catch(() => undefined)
  if (stat !== undefined && !stat.isFile()) return 'lock-unreadable'
  try {
    await run('flock', ['--nonblock', '--conflict-exit-code', String(LOCKED), lock, ...command], { timeout: RENAME_MS })
    return undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === LOCKED) return 'locked'
    if ((await lstat(folder.path).catch(() => undefined)) === undefined) return 'gone'
    throw error
  }
}

/** Deletes a folder that was moved aside. Can be repeated. */
export async function deleteAside(path: string, signal: AbortSignal): Promise<void> {
  const remove = ['rm', '--recursive', '--force', '--one-file-system', '--', path]
  await run('ionice', ['-c', '3', 'nice', '-n', '19', ...remove], { signal })
}

/** Whether something is mounted on the folder or below it, as far as this process can see. */
async function isMounted(path: string): Promise<boolean> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8')
  return mounts.split('\n').some((line) => {
    const point = (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    )
    return point === path || point.startsWith(`${path}/`)
  })
}
