/** Where log bytes lie: immutable objects behind five calls, the same on a disk as on an object store. */
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fault } from '@windlass/kit'

/**
 * Contract: `put` resolves when the object is durable and whole; an object is never changed and never half there. `get` of a range beyond
 * the end gives what there is. `delete` of a missing object is fine. Keys are lower-case hex, digits, `-` and `/`.
 */
export interface Objects {
  put(key: string, parts: readonly Uint8Array[]): Promise<void>
  get(key: string, range: { readonly start: number; readonly bytes: number }): Promise<Buffer>
  head(key: string): Promise<{ bytes: number } | undefined>
  delete(key: string): Promise<void>
  list(prefix: string): AsyncIterable<{ key: string; bytes: number; modifiedAt: number }>
}

/** Objects as files below a folder. Several servers may share it. */
export function diskObjects(root: string): Objects {
  const knownFolders = new Set<string>()

  async function ensureFolder(folder: string): Promise<void> {
    if (knownFolders.has(folder)) return
    if ((await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined) {
      for (let parent = dirname(folder); parent.startsWith(root); parent = dirname(parent)) await syncFolder(parent)
    }
    knownFolders.add(folder)
  }

  return {
    async put(key, parts) {
      const file = join(root, key)
      await ensureFolder(dirname(file))
      const draft = await open(`${file}.draft`, 'wx', 0o600)
      try {
        const { bytesWritten } = await draft.writev([...parts])
        // A full disk takes a part of a write without an error.
        if (bytesWritten < size(parts)) throw fault('storage-full')
        await draft.sync()
      } catch (error) {
        await rm(`${file}.draft`, { force: true })
        throw error
      } finally {
        await draft.close()
      }
      await rename(`${file}.draft`, file)
      await syncFolder(dirname(file))
    },
    async get(key, { start, bytes }) {
      if (bytes === 0) return Buffer.alloc(0)
      return buffer(
        createReadStream(join(root, key), { start, end: start + bytes - 1, highWaterMark: Math.min(bytes, 1_048_576) }),
      )
    },
    async head(key) {
      const found = await stat(join(root, key)).catch(absent)
      return found === undefined ? undefined : { bytes: found.size }
    },
    async delete(key) {
      await rm(join(root, key), { force: true })
    },
    async *list(prefix) {
      const entries = await readdir(join(root, prefix), { recursive: true, withFileTypes: true }).catch(absent)
      for (const entry of entries ?? []) {
        if (!entry.isFile()) continue
        const file = join(entry.parentPath, entry.name)
        const found = await stat(file).catch(absent)
        if (found !== undefined) yield { key: file.slice(root.length + 1), bytes: found.size, modifiedAt: found.mtimeMs }
      }
    },
  }
}

function size(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

function absent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}

/** Makes a rename survive a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
