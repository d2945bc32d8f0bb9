/**
 * Removes the folder of a disk. First it is renamed under the lock that the daemon of a build holds as long as it runs: who has the lock
 * uses the disk, and after the rename nobody can begin to. Then it is deleted with idle priority, without crossing into other file systems.
 */
import { execFile } from 'node:child_process'
import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { asideOf, type DiskFolder } from './folders.ts'

const run = promisify(execFile)
/** Of the daemon's pod, see images/dind/run. */
const LOCK = '.windlass.lock'
const LOCKED = 75
const RENAME_MS = 10_000

/** What keeps a folder; `gone`: nothing does, the provisioner has removed it already. */
export type Hold = 'locked' | 'mounted' | 'lock-unreadable' | 'gone'

/** Who uses a folder now; undefined when nobody does. */
export async function findHold(folder: DiskFolder): Promise<Hold | undefined> {
  return underLock(folder, ['true'])
}

/** Takes the folder out of use; undefined when that is done, else what holds it. */
export async function moveAside(folder: DiskFolder): Promise<Hold | undefined> {
  return underLock(folder, ['mv', '--no-target-directory', folder.path, asideOf(folder)])
}

/** Runs a program with the lock of the disk; does not wait for it. */
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

/** Something is mounted on the folder or below it, as far as this process can see. */
async function isMounted(path: string): Promise<boolean> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8')
  return mounts.split('\n').some((line) => {
    const point = (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    )
    return point === path || point.startsWith(`${path}/`)
  })
}
