/** A small separate file system that a test can fill up. */
import { mkdir, mkdtemp, rm, statfs, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from '../../support/process.ts'

export interface LoopDisk {
  readonly path: string
  /** Creates a file so large that this fraction of the disk is in use as df counts it, without writing data. */
  fillTo(fraction: number, file: string): Promise<void>
  close(): Promise<void>
}

/** Mounts a file system of `megabytes`, which take no space until they are used. Requires root. */
export async function mountLoopDisk(megabytes: number): Promise<LoopDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-loop-'))
  const [image, path] = [join(folder, 'image'), join(folder, 'disk')]
  await writeFile(image, '')
  await truncate(image, megabytes * 1_048_576)
  await mkdir(path)
  await runProgram('mkfs.ext4', ['-q', '-m', '0', image])
  await runProgram('mount', ['-o', 'loop', image, path])
  return {
    path,
    async fillTo(fraction, file) {
      const { blocks, bfree, bavail, bsize } = await statfs(path)
      const used = blocks - bfree
      const bytes = Math.ceil((fraction * (used + bavail) - used) * bsize)
      if (bytes > 0) await runProgram('fallocate', ['--length', String(bytes), file])
    },
    async close() {
      await runProgram('umount', ['--lazy', path])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
