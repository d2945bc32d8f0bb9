/** A file system of a few megabytes, for tests of a full disk. Needs root. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from './process.ts'

/** Mounts one and returns its folder. `size` has the format of mount(8), such as `6m`; `inodes` is the maximum number of files. */
export async function mountSmallDisk(size: string, inodes?: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-full-'))
  const options = [`size=${size}`, ...(inodes === undefined ? [] : [`nr_inodes=${inodes}`])]
  await runProgram('mount', ['-t', 'tmpfs', '-o', options.join(','), 'tmpfs', folder])
  return folder
}

export async function unmountSmallDisk(folder: string): Promise<void> {
  await runProgram('umount', [folder])
  await rm(folder, { recursive: true })
}
