/** Folders of tests in memory. A server waits for the disk at each commit, and other tests, compilers and images keep the disk busy. */
import { existsSync, statfsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const LEAST_FREE_BYTES = 4 * 2 ** 30

/** Creates a folder for data that no power failure is tested on: in memory if there is enough, otherwise on the disk. */
export function memoryFolder(prefix: string): Promise<string> {
  return mkdtemp(join(hasMemory() ? MEMORY : tmpdir(), prefix))
}

function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize > LEAST_FREE_BYTES
}
