/** Storage of log bytes: immutable objects behind five calls that fit both a disk and an object store. */
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fault, hasCode } from '@windlass/kit'

/**
 * Contract:
 * - `put` resolves when the object is durable and complete. Objects never change and are never partially visible. A key is used for one content only,
 *   so a repeated or late `put` of it changes nothing.
 * - After `put`, every server gets the object: `get`, `head` and `list` are strongly consistent.
 * - `get` of a range beyond the end returns the available bytes, and undefined for a missing object.
 * - `delete` of a missing object does nothing. A key is not used again after it.
 * - `list` yields the objects in a folder and below it; all for an empty text. It may also yield foreign files.
 * - Keys consist of lower-case letters, digits and `-`, in folders that are separated by `/`. Other keys are rejected.
 * - Errors of a store that is temporarily unreachable are transient (`isTransient`). Each call gives up by itself within a minute.
 */
export interface Objects {
  put(key: string, parts: readonly Uint8Array[] | AsyncIterable<readonly Uint8Array[]>): Promise<void>
  get(key: string, range: { readonly start: number; readonly bytes: number }): Promise<Buffer | undefined>
  head(key: string): Promise<{ bytes: number } | undefined>
  delete(key: string): Promise<void>
  list(folder: string): AsyncIterable<{ key: string; bytes: number; modifiedAt: number }>
}

/** Returns the key. Throws for a key that is not valid, such as `../windlass.db`. Drafts of interrupted writes can be deleted. */
export function requireObjectKey(key: string): string {
  if (!/^[0-9a-z-]+(\/[0-9a-z-]+)*(\.draft)?$/.test(key))
    throw new Error(`"${key.slice(0, 100)}" is not a valid key of a log object`)
  return key
}

/** Stores objects as files below a folder. Several servers may share the folder. */
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
      const file = join(root, requireObjectKey(key))
      await ensureFolder(dirname(file))
      const draft = await open(`${file}.draft`, 'wx', 0o600)
      try {
        for await (const some of Symbol.asyncIterator in parts ? parts : [parts]) {
          const { bytesWritten } = await draft.writev([...some])
          // A full disk may accept part of a write without an error.
          if (bytesWritten < size(some)) throw fault('storage-full')
        }
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
      const file = await open(join(root, requireObjectKey(key))).catch(absent)
      if (file === undefined) return undefined
      try {
        const found = Buffer.allocUnsafeSlow(bytes)
        let length = 0
        for (let read = -1; read !== 0 && length < bytes; length += read)
          ({ bytesRead: read } = await file.read(found, length, bytes - length, start + length))
        return found.subarray(0, length)
      } catch (error) {
        return absent(error)
      } finally {
        await file.close()
      }
    },
    async head(key) {
      const found = await stat(join(root, requireObjectKey(key))).catch(absent)
      return found === undefined ? undefined : { bytes: found.size }
    },
    async delete(key) {
      await rm(join(root, requireObjectKey(key)), { force: true })
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

/** Returns undefined for errors of a missing file. A network file system reports ESTALE for a file that another server has deleted. */
function absent(error: unknown): undefined {
  if (hasCode(error, 'ENOENT', 'ESTALE')) return undefined
  throw error
}

/** Syncs a folder, so that a rename survives a power failure. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
