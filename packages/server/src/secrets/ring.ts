/**
 * The ring: all master keys of this server. They come from a file in its data folder that the server writes itself, or from a setting that the
 * operator provides. The database stores which key is current (`vault.ts`).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault, hasCode, writePrivateFile } from '@windlass/kit'
import { newMasterKey, readRing, type MasterKey, type SealingKey } from './master-key.ts'

export const MASTER_KEY_FILE = 'master.key'

export interface RingOptions {
  /** The folder of the file `master.key`. The file is not used if `masterKey` is set. */
  readonly dataDir: string
  /** The setting: the text of the ring, see `readRing`. */
  readonly masterKey?: string | undefined
  /** The file that `masterKey` was read from, if it was. Reloads read it again; a setting without a file never changes. */
  readonly masterKeyFile?: string | undefined
}

export interface Ring {
  /** `file`: the server adds and removes keys itself. `setting`: the operator does. */
  readonly source: 'file' | 'setting'
  /** Returns the keys that the ring has now, the newest last. */
  keys(): readonly MasterKey[]
  /**
   * Returns the key with this id, or with this id of the first version (`MasterKey.first`). Also finds keys that were removed since this process
   * started. Reloads the ring if it does not know the id.
   */
  find(id: string): SealingKey | undefined
  /** True if the ring has a key with this id now, or with this id of the first version. Never reloads, so any caller may send the id. */
  knows(id: string): boolean
  /** Reads the ring again. Keeps the known keys if that fails. */
  reload(): void
  /**
   * Appends a new key to the file, syncs the file to disk and returns the key. The source must be `file`, and the caller must hold the lock of the
   * current key, because only one server may write at a time. Throws if the file cannot be read or written.
   */
  add(): MasterKey
  /** Removes the keys with these ids from the file and syncs it to disk. Same conditions as `add`. */
  remove(ids: readonly string[]): void
}

/**
 * Opens the ring. If its file does not exist, creates it with one key if `mayCreate` is set. Throws `config-invalid` if the ring is missing, empty
 * or malformed.
 */
export function openRing(options: RingOptions, mayCreate: boolean): Ring {
  const ownFile = join(options.dataDir, MASTER_KEY_FILE)
  const source = options.masterKey === undefined ? 'file' : 'setting'
  if (source === 'file') ensureFile(ownFile, mayCreate)
  const fileToReload = source === 'file' ? ownFile : options.masterKeyFile
  let keys: readonly MasterKey[] = readRing(options.masterKey ?? readFileSync(ownFile, 'utf8'))
  // A text that was read before a rotation may be opened after it, so this process keeps every key that it has seen.
  const known = new Map<string, SealingKey>()
  const remember = (): void => {
    for (const key of keys) for (const version of [key, key.first]) known.set(version.id, version)
  }
  remember()
  // Changes start from the file, because another server may have added a key that this process has not read yet.
  const change = (work: (stored: readonly MasterKey[]) => readonly MasterKey[]): void => {
    const changed = work(readRing(readFileSync(ownFile, 'utf8')))
    writePrivateFile(ownFile, changed.map(({ text }) => `${text}\n`).join(''), { replace: true })
    keys = changed
    remember()
  }
  const ring: Ring = {
    source,
    keys: () => keys,
    knows: (id) => keys.some((key) => key.id === id || key.first.id === id),
    find(id) {
      if (!known.has(id)) ring.reload()
      return known.get(id)
    },
    reload() {
      if (fileToReload === undefined) return
      try {
        keys = readRing(readFileSync(fileToReload, 'utf8'))
        remember()
      } catch {
        // A mounted file may be replaced during the read. The next reload reads it completely.
      }
    },
    add() {
      const [added] = readRing(newMasterKey()) as [MasterKey]
      change((stored) => [...stored, added])
      return added
    },
    remove: (ids) => change((stored) => stored.filter(({ id }) => !ids.includes(id))),
  }
  return ring
}

function ensureFile(file: string, mayCreate: boolean): void {
  try {
    readFileSync(file)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
    if (!mayCreate)
      throw fault(
        'config-invalid',
        {
          message: `The master key of this database is missing: ${file} does not exist.`,
          hint: 'Restore the file, or set WINDLASS_SERVER_MASTER_KEY.',
        },
        error,
      )
    writePrivateFile(file, `${newMasterKey()}\n`)
  }
}
