/** Facts about the git repository that contains a folder. */
import { readHostGit } from '@windlass/kit/host-git'
import type { GitFacts } from '@windlass/plan'

const TIMEOUT_MS = 10_000

export interface Repository {
  readonly root: string
  readonly facts: GitFacts
  /** Base URL of the host of `origin`, e.g. `https://github.com`; undefined for other kinds of remotes. */
  readonly host: string | undefined
}

/**
 * Reads the repository that contains `folder`, at its checkout or at `branch`. Undefined if there is no repository or no commit yet, or if git is not
 * installed.
 */
export async function readRepository(folder: string, branch: string | undefined): Promise<Repository | undefined> {
  const git = async (...args: string[]): Promise<string | undefined> =>
    (await readHostGit(folder, args, { timeoutMs: TIMEOUT_MS }))?.trimEnd()
  const [root, here, remote] = await Promise.all([
    git('rev-parse', '--show-toplevel'),
    git('symbolic-ref', '--short', 'HEAD'),
    git('config', '--get', 'remote.origin.url'),
  ])
  if (root === undefined) return undefined
  const log = ['log', '-1', '--format=%H%x00%an <%ae>%x00%B', '--end-of-options']
  // A branch that exists only on the remote has a commit here once it was fetched.
  const commit =
    branch === undefined || branch === here
      ? await git(...log, 'HEAD')
      : ((await git(...log, branch)) ?? (await git(...log, `origin/${branch}`)))
  if (commit === undefined && branch === undefined) return undefined
  const [revision, author, message] = commit?.split('\0') ?? []
  const origin = remote === undefined ? undefined : parseRemote(remote)
  const facts: GitFacts = {
    repoOwner: origin?.owner,
    repoName: origin?.name ?? root.split('/').at(-1),
    branch: branch ?? here,
    revision,
    commitAuthor: author,
    commitMessage: message?.trimEnd(),
  }
  return { root, facts, host: origin?.host }
}

export interface Remote {
  readonly owner: string
  readonly name: string
  readonly host: string | undefined
}

/** Returns owner and name of a remote URL: http, https, ssh, the scp form, or a path. Omits credentials. */
export function parseRemote(text: string): Remote | undefined {
  const scp = /^(?:[^@/]+@)?([^:/]+):(?!\/\/)(.+)$/.exec(text)
  const url = URL.canParse(text) ? new URL(text) : undefined
  const path = url?.pathname ?? scp?.[2] ?? text
  const parts = path
    .replace(/\.git\/?$/, '')
    .split('/')
    .filter((part) => part !== '')
  const name = parts.pop()
  if (name === undefined) return undefined
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
  const host = isWeb
    ? `${url.protocol}//${url.host}`
    : url?.protocol === 'ssh:'
      ? `https://${url.hostname}`
      : scp?.[1] && `https://${scp[1]}`
  return { owner: parts.join('/'), name, host: host === '' ? undefined : host }
}
