import { globSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the paths of all files below a folder, sorted, without hidden ones. */
export function listFiles(folder: string): string[] {
  return globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => join(found.parentPath, found.name).slice(folder.length + 1))
    .toSorted()
}
