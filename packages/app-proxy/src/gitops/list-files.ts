/** The files of a folder and of those below it. */
import { fault } from '@windlass/kit'
import type { RepositoryView } from './repository-view.ts'

export interface ListLimits {
  readonly files: number
  readonly folders: number
  /** Names the folder in the message, and says what to do. */
  readonly what: string
  readonly hint: string
}

/** Returns the paths below folders of the view, by default all. Links and submodules are left out. Throws `file-too-large`. */
export async function listFiles(view: RepositoryView, limits: ListLimits, from: readonly string[] = ['']): Promise<string[]> {
  const files: string[] = []
  const folders = [...from]
  for (let at = 0; at < folders.length; at += 1) {
    const folder = folders[at] ?? ''
    for (const { name, type } of await view.entries(folder)) {
      const path = folder === '' ? name : `${folder}/${name}`
      if (type === 'file') files.push(path)
      if (type === 'folder') folders.push(path)
    }
    if (files.length > limits.files || folders.length > limits.folders)
      throw fault('file-too-large', {
        message: `${limits.what} has more than ${limits.files} files, or ${limits.folders} folders.`,
        hint: limits.hint,
      })
  }
  return files
}
