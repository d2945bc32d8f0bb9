/** Where the Git sources of a runtime have the manifest of an application. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { findApplication, problemOfFile, type FoundDocument } from '@windlass/gitops'
import { fault, isFault } from '@windlass/kit'
import { problemOfRepositoryUrl, type ListedGitSource } from '@windlass/protocol'
import { listFiles } from './list-files.ts'
import type { RepositoryBranch, RepositoryBranches } from './repository-branch.ts'
import { readIfText, type RepositoryView } from './repository-view.ts'
import type { GitopsCall } from './user-repositories.ts'

/** Files that are read at once. */
const READS = 8
/** What is parsed of a file of which it is not known whether it is wanted. Bytes. */
const MAX_BYTES = 65_536
const MAX_FILES = 1_000
const MAX_FOLDERS = 200

/** A Git source whose repository is open. */
export interface OpenSource {
  readonly source: ListedGitSource
  readonly branch: RepositoryBranch
}

/** The file with an application. */
export interface FoundFile {
  /** From the folder of the Git source. */
  readonly file: string
  readonly text: string
  readonly document: FoundDocument
}

export interface FoundApplication extends OpenSource, FoundFile {}

/** Opens the repository of a Git source. Throws `request-invalid` for one that no Git token reads, and what `RepositoryBranches.open` throws. */
export async function openSource(branches: RepositoryBranches, call: GitopsCall, source: ListedGitSource): Promise<OpenSource> {
  const problem = problemOfRepositoryUrl(source.repository)
  if (problem !== undefined)
    throw fault('request-invalid', { message: `The repository of the Git source "${source.name}" cannot be opened. ${problem}.` })
  return { source, branch: await branches.open(call, source.repository) }
}

/** Returns the files that Argo CD applies, from the folder of the Git source. Throws `file-too-large` for a source with more than 1,000 files. */
async function appliedFiles(view: RepositoryView, { source }: OpenSource): Promise<string[]> {
  const files = await listFiles(view, {
    files: MAX_FILES,
    folders: MAX_FOLDERS,
    what: `The folder of the Git source "${source.name}"`,
    hint: 'Divide it into several Git sources.',
  })
  return files.filter((file) => problemOfFile(file, source) === undefined)
}

export interface SourceFile {
  /** From the folder of the Git source. */
  readonly file: string
  /** Undefined for a file of more than 64 KiB. */
  readonly text: string | undefined
}

/** Yields the files that Argo CD applies. Other calls have their turn after each, because to parse one takes long. Throws like `findInSource`. */
export async function* readSource(view: RepositoryView, open: OpenSource): AsyncGenerator<SourceFile> {
  const files = await appliedFiles(view, open)
  for (let at = 0; at < files.length; at += READS) {
    const found = await Promise.all(files.slice(at, at + READS).map((file) => readSmall(view, file)))
    for (const one of found) {
      if (one !== undefined) yield one
      await nextTurn()
    }
  }
}

/** Returns undefined for a file that is gone or not text. */
async function readSmall(view: RepositoryView, file: string): Promise<SourceFile | undefined> {
  try {
    const text = await view.read(file, MAX_BYTES)
    return text === undefined ? undefined : { file, text }
  } catch (error) {
    if (isFault(error, 'file-too-large')) return { file, text: undefined }
    if (isFault(error, 'conflict')) return undefined
    throw error
  }
}

/** Returns the file of an application; undefined if the Git source has none. Other calls have their turn after each file. Throws `file-too-large` for a source with more than 1,000 files. */
export async function findInSource(view: RepositoryView, open: OpenSource, name: string): Promise<FoundFile | undefined> {
  const applied = await appliedFiles(view, open)
  // Most files have the name of their application.
  const sorted = [...applied.filter((file) => file.includes(name)), ...applied.filter((file) => !file.includes(name))]
  for (let at = 0; at < sorted.length; at += READS) {
    const read = async (file: string) => ({ file, text: await readIfText(view, file) })
    for (const { file, text } of await Promise.all(sorted.slice(at, at + READS).map(read))) {
      const found = findInText(file, text, name)
      if (found !== undefined) return found
      await nextTurn()
    }
  }
  return undefined
}

/** Returns the application of a file; undefined if the file has none of this name. */
export async function findInFile(view: RepositoryView, file: string, name: string): Promise<FoundFile | undefined> {
  return findInText(file, await readIfText(view, file), name)
}

function findInText(file: string, text: string | undefined, name: string): FoundFile | undefined {
  const document = text === undefined ? undefined : findApplication(text, name)
  return text === undefined || document === undefined ? undefined : { file, text, document }
}

export interface Search {
  readonly found: FoundApplication | undefined
  /** Why Git sources were not searched. */
  readonly unsearched: readonly string[]
}

/** Searches Git sources, in their order, until one has the application. One that cannot be read is left out, unless `required` is its name. */
export async function searchSources(
  branches: RepositoryBranches,
  call: GitopsCall,
  {
    sources,
    name,
    required,
  }: { readonly sources: readonly ListedGitSource[]; readonly name: string; readonly required?: string | undefined },
): Promise<Search> {
  const unsearched: string[] = []
  for (const source of sources) {
    try {
      const open = await openSource(branches, call, source)
      const found = await findInSource(await open.branch.view(), open, name)
      if (found !== undefined) return { found: { ...open, ...found }, unsearched }
    } catch (error) {
      if (!isFault(error) || source.name === required) throw error
      unsearched.push(`The Git source "${source.name}" could not be searched: ${error.message}`)
    }
  }
  return { found: undefined, unsearched }
}
