/** Pull requests of a forge. Pure, like `ForgeApi`: a forge says where something is and how its answer is read. */
import { pathOf, type ForgePage, type Listing } from '../api/forge-api.ts'
import { queryOf, type Single } from '../browse/forge-browser.ts'
import type { BrowsedForge } from '../browse/forge-browsers.ts'
import { at, flag, list, text, webAddress } from '../fields.ts'

export interface PullPlace {
  /** `owner/name`. */
  readonly repo: string
  /** The branch with the change, in the same repository. */
  readonly head: string
  /** The branch that gets the change. */
  readonly base: string
}

export interface NewPull extends PullPlace {
  readonly title: string
  readonly description: string
}

export interface PullRequest {
  readonly number: number
  /** Its page; empty if the forge does not say. */
  readonly url: string
  readonly title?: string | undefined
  readonly state: 'open' | 'merged' | 'closed'
  /** The commit that the base got, of a merged one. */
  readonly revision?: string | undefined
}

export interface ForgePulls {
  /** Lists the pull requests of a branch, in any state. The forge may answer 404 for none. */
  of(place: PullPlace): Listing<PullRequest>
  create(pull: NewPull): { readonly path: string; readonly body: object; read(page: ForgePage): PullRequest | undefined }
  one(repo: string, number: number): Single<PullRequest>
  /** Lists those that brought a commit to the repository, or will. The forge may answer 404 for none. */
  ofCommit(repo: string, revision: string): Listing<PullRequest>
}

/** GitHub and Gitea, which differ in how a branch is searched, and in the name of the list of a commit. */
function githubPulls(pathOfBranch: (place: PullPlace) => string, ofCommit: 'pulls' | 'pull'): ForgePulls {
  return {
    of: (place) => ({ path: pathOfBranch(place), read: readAllOfGithub }),
    ofCommit: (repo, revision) => ({ path: `/repos/${pathOf(repo, 'commits', revision)}/${ofCommit}`, read: readAllOfGithub }),
    create: ({ repo, head, base, title, description }) => ({
      path: `/repos/${pathOf(repo, 'pulls')}`,
      body: { head, base, title, body: description },
      read: ({ body }) => readGithub(body),
    }),
    one: (repo, number) => ({ path: `/repos/${pathOf(repo, 'pulls', String(number))}`, read: ({ body }) => readGithub(body) }),
  }
}

/** Gitea answers with one pull request where GitHub has a list. */
function readAllOfGithub({ body }: ForgePage): { items: PullRequest[] } {
  return { items: (Array.isArray(body) ? list(body) : [body]).flatMap((one) => readGithub(one) ?? []) }
}

function readGithub(body: unknown): PullRequest | undefined {
  const number = at(body, 'number')
  if (typeof number !== 'number') return undefined
  const isMerged = flag(body, 'merged') === true || text(body, 'merged_at') !== undefined
  const facts = { number, url: webAddress(body, 'html_url') ?? '', title: text(body, 'title') }
  if (!isMerged) return { ...facts, state: text(body, 'state') === 'open' ? 'open' : 'closed' }
  return { ...facts, state: 'merged', revision: text(body, 'merge_commit_sha') }
}

const gitlabPulls: ForgePulls = {
  of: ({ repo, head, base }) => ({
    path: `${mergeRequestsOf(repo)}${queryOf({ source_branch: head, target_branch: base, state: 'all' })}`,
    read: ({ body }) => ({ items: list(body).flatMap((one) => readGitlab(one) ?? []) }),
  }),
  create: ({ repo, head, base, title, description }) => ({
    path: mergeRequestsOf(repo),
    body: { source_branch: head, target_branch: base, title, description, remove_source_branch: true },
    read: ({ body }) => readGitlab(body),
  }),
  one: (repo, number) => ({ path: `${mergeRequestsOf(repo)}/${number}`, read: ({ body }) => readGitlab(body) }),
  ofCommit: (repo, revision) => ({
    path: `/projects/${encodeURIComponent(repo)}/repository/commits/${encodeURIComponent(revision)}/merge_requests`,
    read: ({ body }) => ({ items: list(body).flatMap((one) => readGitlab(one) ?? []) }),
  }),
}

function mergeRequestsOf(repo: string): string {
  return `/projects/${encodeURIComponent(repo)}/merge_requests`
}

function readGitlab(body: unknown): PullRequest | undefined {
  const number = at(body, 'iid')
  if (typeof number !== 'number') return undefined
  const facts = { number, url: webAddress(body, 'web_url') ?? '', title: text(body, 'title') }
  const state = text(body, 'state')
  if (state !== 'merged') return { ...facts, state: state === 'closed' ? 'closed' : 'open' }
  // A fast-forward makes no commit of its own.
  const revision = text(body, 'merge_commit_sha') ?? text(body, 'squash_commit_sha') ?? text(body, 'sha')
  return { ...facts, state, revision }
}

/** Forges at which promotions can be pull requests. */
export const FORGE_PULLS: Readonly<Partial<Record<BrowsedForge, ForgePulls>>> = {
  github: githubPulls(({ repo, head, base }) => {
    const [owner = ''] = repo.split('/')
    return `/repos/${pathOf(repo, 'pulls')}${queryOf({ head: `${owner}:${head}`, base, state: 'all' })}`
  }, 'pulls'),
  // A base with a slash is one part of this path.
  gitea: githubPulls(
    ({ repo, head, base }) => `/repos/${pathOf(repo, 'pulls')}/${encodeURIComponent(base)}/${encodeURIComponent(head)}`,
    'pull',
  ),
  gitlab: gitlabPulls,
}
