/** The files of a folder and of those below it. */
import { fault } from '@windlass/kit'
import type { RepositoryView } from '../gitops/repository-view.ts'

/** Files of an application that are promoted together, as many as a commit has. */
const MAX_FILES = 100
const MAX_FOLDERS = 100

/** Returns the paths below the folder of the view. Links and submodules are left out. Throws `file-too-large`. */
export async function listFiles(view: RepositoryView): Promise<string[]> {
  const files: string[] = []
  const folders = ['']
  for (let at = 0; at < folders.length; at += 1) {
    const folder = folders[at] ?? ''
    for (const { name, type } of await view.entries(folder)) {
      const path = folder === '' ? name : `${folder}/${name}`
      if (type === 'file') files.push(path)
      if (type === 'folder') folders.push(path)
    }
    if (files.length > MAX_FILES || folders.length > MAX_FOLDERS)
      throw fault('file-too-large', {
        message: `The folder of the application has more than ${MAX_FILES} files, or ${MAX_FOLDERS} folders.`,
        hint: 'Name the values to promote in the product or a template.',
      })
  }
  return files
}
