/** Files of a repository at one commit, read from its forge with the Git token of a user. */
import type { TreeEntry } from '@windlass/forges'
import { below } from '@windlass/gitops'
import { fault, isFault } from '@windlass/kit'
import { readFile, readList } from '../forge/browse.ts'
import type { ForgeSession } from '../forge/session.ts'

/** Entries of a folder that are read. */
const MAX_ENTRIES = 2_000

export interface RepositoryView {
  /** The commit that is read. */
  readonly revision: string
  /** Lists a folder. Returns nothing if it does not exist. Throws `file-too-large` for more than 2,000 entries. */
  entries(folder: string): Promise<readonly TreeEntry[]>
  /** Returns the text of a file; undefined if it does not exist. Throws `conflict` for a file that is not text, and `file-too-large` for more than `maxBytes`, by default 1 MiB. */
  read(path: string, maxBytes?: number): Promise<string | undefined>
}

export interface ViewPlace {
  readonly repo: string
  readonly branch: string
  /** Folder before all paths. Empty for the root. */
  readonly folder: string
}

/** Opens the last commit of a branch. Throws `not-found` if the branch does not exist or the repository is empty. */
export async function openView(session: ForgeSession, { repo, branch, folder }: ViewPlace): Promise<RepositoryView> {
  const { browser } = session
  const commits = await readList(session, browser.commits({ repo, ref: branch, path: '' }), undefined).catch(asNothing)
  const revision = commits?.items[0]?.revision
  if (revision === undefined)
    throw fault('not-found', {
      message: `The branch "${branch}" of "${repo}" does not exist, or has no commit.`,
      hint: 'Push a first commit, such as a README, or name another branch with ?ref=BRANCH.',
    })
  return viewAt(session, { repo, revision, folder })
}

/** Opens a commit that is known. */
export function viewAt(
  session: ForgeSession,
  { repo, revision, folder }: Pick<ViewPlace, 'repo' | 'folder'> & { readonly revision: string },
): RepositoryView {
  const { browser } = session
  return {
    revision,
    async entries(path) {
      const listing = browser.tree({ repo, ref: revision, path: below(folder, path) })
      const found: TreeEntry[] = []
      let cursor: string | undefined
      do {
        const page = await readList(session, listing, cursor).catch(asNothing)
        found.push(...(page?.items ?? []))
        cursor = page?.cursor
        if (found.length > MAX_ENTRIES)
          throw fault('file-too-large', { message: `The folder "${path}" of "${repo}" has more than ${MAX_ENTRIES} entries.` })
      } while (cursor !== undefined)
      return found
    },
    async read(path, maxBytes) {
      const file = await readFile(session, { repo, ref: revision, path: below(folder, path) }, maxBytes).catch(asNothing)
      if (file === undefined) return undefined
      if (file.encoding === 'utf8') return file.content
      throw fault('conflict', { message: `The file "${path}" of "${repo}" is not text.`, hint: 'Replace it with git.' })
    },
  }
}

/** Like `read`, but returns undefined for a file that is not text or is large. */
export async function readIfText(view: RepositoryView, path: string): Promise<string | undefined> {
  return view.read(path).catch((error: unknown) => {
    if (isFault(error, 'conflict', 'file-too-large')) return undefined
    throw error
  })
}

function asNothing(error: unknown): undefined {
  if (isFault(error, 'not-found')) return undefined
  throw error
}
