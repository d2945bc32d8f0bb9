/** What git says about a working tree. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readHostGit } from '@windlass/kit/host-git'

const TIMEOUT_MS = 10_000
/** Longest message of a commit that becomes a variable. A process cannot have longer ones than 128 KiB. Characters. */
const MAX_MESSAGE = 32_768

export interface Commit {
  /** Folder of the working tree. */
  readonly root: string
  readonly sha: string
  /** Undefined for a detached head. */
  readonly branch: string | undefined
  /** Tag of the commit, if the head is detached. */
  readonly tag: string | undefined
  readonly author: string
  readonly message: string
  /** ISO 8601. */
  readonly committedAt: string
  readonly defaultBranch: string | undefined
  /** URL of `origin`; it can have a password. */
  readonly remoteUrl: string | undefined
  readonly user: { readonly name: string | undefined; readonly email: string | undefined }
}

/**
 * Returns the folder of the working tree that contains a folder; undefined outside of one, without git, and in a repository of another user: its job would get the
 * secrets of this one.
 */
export async function findWorkTree(folder: string): Promise<string | undefined> {
  const text = await readHostGit(folder, ['rev-parse', '--show-toplevel'], { timeoutMs: TIMEOUT_MS })
  const root = text?.replace(/\n$/, '')
  // `core.worktree` of a foreign repository can name any folder.
  return root !== undefined && existsSync(join(root, '.git')) ? root : undefined
}

/** Reads the checked-out commit. Returns undefined without a commit. */
export async function readCommit(root: string): Promise<Commit | undefined> {
  const git = async (...args: string[]): Promise<string | undefined> => {
    const text = (await readHostGit(root, args, { timeoutMs: TIMEOUT_MS }))?.trimEnd()
    return text === '' ? undefined : text
  }
  const [log, branch, remoteUrl, name, email, originHead] = await Promise.all([
    git('log', '-1', '--format=%H%x00%an <%ae>%x00%cI%x00%B'),
    git('symbolic-ref', '--quiet', '--short', 'HEAD'),
    git('config', '--get', 'remote.origin.url'),
    git('config', '--get', 'user.name'),
    git('config', '--get', 'user.email'),
    git('symbolic-ref', '--quiet', '--short', 'refs/remotes/origin/HEAD'),
  ])
  if (log === undefined) return undefined
  const [sha = '', author = '', committedAt = '', ...message] = log.split('\0')
  const tag = branch === undefined ? await git('describe', '--tags', '--exact-match', 'HEAD') : undefined
  const defaultBranch = originHead?.replace(/^origin\//, '')
  return {
    root,
    sha,
    branch,
    tag,
    author,
    committedAt,
    message: message.join('\0').trimEnd().slice(0, MAX_MESSAGE),
    defaultBranch,
    remoteUrl,
    user: { name, email },
  }
}
