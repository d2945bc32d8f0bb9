/**
 * How GitOps names a place in a Git repository, in one text: `https://host/owner/name.git/path?ref=branch`. The path and the branch can be absent. Browser-safe, pure.
 */
import { z } from 'zod'

const MAX_URL = 1_000

/** A place in a repository. */
export interface RepositoryPlaceUrl {
  /** URL for git, without path and branch. */
  readonly clone: string
  /** Folder in the repository, without slashes at its ends. Empty for the root. */
  readonly path: string
  readonly branch: string | undefined
}

/** Returns true for the URL of an SSH remote, which has no form that a browser reads: `git@host:owner/name.git`, or `ssh://`. */
function isSsh(text: string): boolean {
  return /^(?:ssh|git\+ssh|git):\/\//i.test(text) || /^[\w.-]+@[\w.-]+:/.test(text)
}

/** Returns why a text is not the URL of a repository; undefined if it is. */
export function problemOfRepositoryUrl(text: string): string | undefined {
  if (isSsh(text)) return 'Invalid URL: it must be an HTTPS URL, because SSH has no Git token of a user'
  if (text.length > MAX_URL || !/^https?:\/\/[^/]/i.test(text) || /[\s\p{Cc}\\#%]/u.test(text))
    return 'Invalid URL: it must have the form https://host/owner/name.git'
  const url = URL.parse(text)
  if (url === null || /^[^/]*\/\/[^/]*@/.test(text)) return 'Invalid URL: it must not contain a user name or a password'
  const names = [...url.searchParams.keys()]
  if (names.some((name) => name !== 'ref') || names.length > 1) return 'Invalid URL: it can have only the parameter ref'
  // The URL parser resolves them, so the repository would be another one than that of the text.
  if (/\/\.{1,2}(?:[/?]|$)/.test(text)) return 'Invalid URL: it must not contain . or ..'
  const branch = url.searchParams.get('ref')
  if (branch !== null && !/^\w[\w./-]{0,199}$/.test(branch)) return 'Invalid URL: ref must be the name of a branch'
  return /^\/[^/]/.test(url.pathname) ? undefined : 'Invalid URL: it must contain the path of a repository'
}

/**
 * Splits the URL of a repository, see `problemOfRepositoryUrl`. Without `.git` the whole path is that of the repository. The URL for git has `.git` always, so that two
 * spellings of a repository are equal.
 */
export function splitRepositoryUrl(text: string): RepositoryPlaceUrl {
  const url = new URL(text)
  const [, repository = '', path = ''] = /^(.*?\.git)(?:\/(.*))?$/.exec(url.pathname) ?? [undefined, url.pathname, '']
  return {
    clone: `${url.origin}${repository.replace(/\/+$/, '').replace(/\.git$/, '')}.git`,
    path: path.replaceAll(/\/{2,}/g, '/').replace(/^\/+|\/+$/g, ''),
    branch: url.searchParams.get('ref') ?? undefined,
  }
}

/** Returns the text that `splitRepositoryUrl` reads. */
export function joinRepositoryUrl({ clone, path, branch }: RepositoryPlaceUrl): string {
  const place = path === '' ? clone : `${clone}/${path}`
  return branch === undefined ? place : `${place}?ref=${branch}`
}

/** `https://host/owner/name.git[/path][?ref=branch]`, in its normal form. */
export const RepositoryUrl = z
  .string()
  .min(1)
  .superRefine((text, context) => {
    const problem = problemOfRepositoryUrl(text)
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
  })
  .overwrite((text) => (problemOfRepositoryUrl(text) === undefined ? joinRepositoryUrl(splitRepositoryUrl(text)) : text))
