/**
 * The master keys of this server: a file in its data folder that it writes itself, or a setting that the operator provides. The database stores
 * which key is current (`vault.ts`).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault, hasCode } from '@windlass/kit'
import { newMasterKey, readRing, type MasterKey, type SealingKey } from './master-key.ts'
import { writePrivateFile } from './private-file.ts'

export const MASTER_KEY_FILE = 'master.key'

export interface RingOptions {
  readonly dataDir: string
  /** The text of the ring; see `readRing`. */
  readonly masterKey?: string | undefined
  /** The file that `masterKey` was read from; it is read again if a key is missing. */
  readonly masterKeyFile?: string | undefined
}

export interface Ring {
  /** `file`: the server adds and removes keys itself. `setting`: the operator does. */
  readonly source: 'file' | 'setting'
  /** In the order of the ring. */
  keys(): readonly MasterKey[]
  /** Finds a key by id, of either version, including keys removed since this process started. Reloads the ring for an unknown id. */
  find(id: string): SealingKey | undefined
  /** Reads the ring again. Keeps the known keys if that fails. */
  reload(): void
  /**
   * Appends a new key to the file and syncs it to disk. Only for the source `file`, and for one server at a time: the caller holds the lock of the
   * current key. Throws if the file cannot be read.
   */
  add(): MasterKey
  /** Removes the keys with these ids from the file and syncs it to disk. Same conditions as `add`. */
  remove(ids: readonly string[]): void
}

/** Opens the ring. Creates the file with one key if `mayCreate`. Throws `config-invalid`. */
export function openRing(options: RingOptions, mayCreate: boolean): Ring {
  const own = join(options.dataDir, MASTER_KEY_FILE)
  if (options.masterKey === undefined) ensureFile(own, mayCreate)
  const file = options.masterKey === undefined ? own : options.masterKeyFile
  let keys = readRing(options.masterKey ?? readFileSync(own, 'utf8'))
  // A text that was read before a rotation may be opened after it, so this process keeps every key that it has seen.
  const known = new Map<string, SealingKey>()
  const remember = (): void => {
    for (const key of keys) for (const version of [key, key.first]) known.set(version.id, version)
  }
  remember()
  // Changes start from the file, because another server may have added a key that this process has not read yet.
  const change = (work: (stored: readonly MasterKey[]) => readonly MasterKey[]): void => {
    const changed = work(readRing(readFileSync(own, 'utf8')))
    writePrivateFile(own, changed.map(({ text }) => `${text}\n`).join(''), { replace: true })
    keys = [...changed]
    remember()
  }
  const ring: Ring = {
    source: options.masterKey === undefined ? 'file' : 'setting',
    keys: () => keys,
    find(id) {
      if (!known.has(id)) ring.reload()
      return known.get(id)
    },
    reload() {
      if (file === undefined) return
      try {
        keys = readRing(readFileSync(file, 'utf8'))
        remember()
      } catch {
        // A mounted file may be replaced during the read; the next reload reads it completely.
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
