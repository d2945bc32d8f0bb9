/** A disk whose power can fail. Needs root. */
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from './process.ts'

export interface PowerDisk extends AsyncDisposable {
  /** Where the disk is mounted. */
  readonly folder: string
  /**
   * Mounts a copy of the disk as a power failure at the time of the call would leave it, and resolves with its folder. The copy is made before the
   * call returns, so this process begins no write meanwhile.
   */
  failPower(): Promise<string>
}

/**
 * Opens a disk of 64 MiB: an ext4 file system in a file. A write reaches that file when the file system sends it to its device: at once for a sync,
 * otherwise after 30 s or more, because of `commit`. A copy of the file therefore lacks what was not synced.
 */
export async function openPowerDisk(): Promise<PowerDisk> {
  const root = await mkdtemp(join(tmpdir(), 'windlass-power-'))
  const image = join(root, 'disk.img')
  const mounted: string[] = []
  const mount = async (file: string): Promise<string> => {
    const folder = `${file}.mounted`
    await mkdir(folder)
    await runProgram('mount', ['-o', 'loop,commit=300', file, folder])
    mounted.push(folder)
    return folder
  }
  await runProgram('truncate', ['--size', '64M', image])
  await runProgram('mkfs.ext4', ['-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0', image])
  const folder = await mount(image)
  let cuts = 0
  return {
    folder,
    failPower() {
      cuts += 1
      const copy = join(root, `cut-${cuts}.img`)
      writeFileSync(copy, readStill(image))
      return mount(copy)
    },
    async [Symbol.asyncDispose]() {
      for (const one of mounted.toReversed()) await runProgram('umount', ['--lazy', one])
      await rm(root, { recursive: true, force: true })
    },
  }
}

/**
 * Returns the bytes of a file at a time at which nothing was written to it. Another thread of this process may be syncing a file: a copy that has the later
 * half of that would be a disk that no power failure leaves.
 */
function readStill(path: string): Buffer {
  for (let before = readFileSync(path); ;) {
    const bytes = readFileSync(path)
    if (bytes.equals(before)) return bytes
    before = bytes
  }
}
