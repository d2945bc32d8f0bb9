/** Reads a work tree as a user has it: with uncommitted changes and `.git`, without files that git ignores. */
import { createReadStream } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { readHostGit } from '@windlass/kit/host-git'
import type { Pack } from 'tar-stream'

/** Largest work tree. Bytes. */
const MAX_BYTES = 4 * 1024 ** 3

/** Returns paths relative to the root. Without git, includes every file. */
export async function listWorkTree(root: string): Promise<string[]> {
  const options = { maxBuffer: 256 * 1024 * 1024, anyOwner: true }
  const git = await readHostGit(root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], options)
  if (git === undefined) return walk(root, '')
  return [...git.split('\0').filter((path) => path !== ''), ...(await walk(root, '.git'))]
}

async function walk(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true, recursive: true }).catch(() => [])
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
}

export interface WorkTree {
  readonly root: string
  /** Paths relative to the root. */
  readonly files: readonly string[]
  /** Folder of the files in the archive, without a slash at its ends. */
  readonly folder: string
  /** Returns the error for a work tree with more than so many GiB. */
  readonly tooLarge: (gib: number) => Error
}

/** Adds the files to an archive, and ends the archive. */
export async function packWorkTree(tar: Pack, { root, files, folder, tooLarge }: WorkTree): Promise<void> {
  let total = 0
  for (const path of files) {
    const stat = await lstat(join(root, path)).catch(() => undefined)
    // A deleted file that git still tracks, a socket, or a nested repository.
    if (stat === undefined || !(stat.isFile() || stat.isSymbolicLink())) continue
    const header = { name: `${folder}/${path}`, mode: stat.mode & 0o777, mtime: stat.mtime }
    if (stat.isSymbolicLink()) {
      tar.entry({ ...header, type: 'symlink', linkname: await readlink(join(root, path)) })
      continue
    }
    total += stat.size
    if (total > MAX_BYTES) throw tooLarge(MAX_BYTES / 1024 ** 3)
    await addFile(tar, { path: join(root, path), header: { ...header, size: stat.size } })
  }
  tar.finalize()
}

function addFile(
  tar: Pack,
  { path, header }: { path: string; header: { name: string; mode: number; mtime: Date; size: number } },
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const entry = tar.entry(header, (error) => (error ? reject(error) : resolve()))
  if (header.size === 0) entry.end(Buffer.alloc(0))
  // A file that grows during the read must not corrupt the archive.
  else
    createReadStream(path, { end: header.size - 1 })
      .on('error', reject)
      .pipe(entry)
  return promise
}
