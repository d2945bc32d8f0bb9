/** The YAML files below a folder, which may belong to a foreign repository. */
import { readdirSync, type Dirent } from 'node:fs'
import { join } from 'node:path'
import { fault } from '@windlass/kit/faults'

/** Largest number of files and folders below a folder. */
export const MAX_ENTRIES = 20_000
/** Largest size of a document, and of all documents of a folder. Bytes. */
export const MAX_BYTES = 1_048_576
export const MAX_TOTAL_BYTES = 32 * MAX_BYTES
const SKIPPED_FOLDERS = ['.git', 'node_modules']

export interface YamlFolder {
  /** Hint for a folder that does not exist. Without one, such a folder has no files. */
  readonly hint: string | undefined
}

/** Lists the YAML files below a folder, sorted by path. Follows no links. Throws `file-not-found`, and `usage` if the folder is too large. */
export function listYamlFiles(folder: string, { hint }: YamlFolder): string[] {
  const files: string[] = []
  const folders = [folder]
  let seen = 0
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const entry of readFolder(next, next === folder ? hint : undefined)) {
      seen += 1
      if (seen > MAX_ENTRIES) throw folderTooLarge(folder, `more than ${MAX_ENTRIES} files`)
      const path = join(next, entry.name)
      if (entry.isDirectory() && !SKIPPED_FOLDERS.includes(entry.name)) folders.push(path)
      else if (entry.isFile() && /\.ya?ml$/.test(entry.name)) files.push(path)
    }
  }
  return files.toSorted()
}

/** Creates the fault of a folder that exceeds a limit. */
export function folderTooLarge(folder: string, what: string): Error {
  return fault('usage', { message: `The folder ${folder} has ${what}.`, hint: 'Name a smaller folder.' })
}

/** Lists a folder. Without a hint, a folder that cannot be read is empty. */
function readFolder(folder: string, hint: string | undefined): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if (hint === undefined) return []
    throw fault('file-not-found', { message: `The folder ${folder} does not exist.`, hint }, error)
  }
}
