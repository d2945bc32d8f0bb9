/** The REST API of Gitea and Forgejo, version 1. Its bodies have the form of GitHub, except for branches and comparisons. */
import { defined } from '@windlass/kit'
import { FORGE_ENDPOINTS } from '@windlass/protocol'
import { at, list, text } from '../fields.ts'
import { filesOfPull, statusBody } from './github.ts'
import { nextByLink, pathOf, type CommitFacts, type ForgeApi, type ForgePage } from './forge-api.ts'

export const giteaApi: ForgeApi = {
  ...FORGE_ENDPOINTS.gitea,
  status: (status) => ({ path: `/repos/${pathOf(status.repo, 'statuses', status.revision)}`, body: statusBody(status) }),
  files({ repo, pull, base, head }) {
    if (pull !== undefined) return filesOfPull(`/repos/${pathOf(repo, 'pulls', pull)}/files?limit=50`)
    if (base === undefined || head === undefined) return undefined
    return { path: `/repos/${pathOf(repo, 'compare')}/${base}...${head}`, read: (page) => readComparison(page, base) }
  },
  branches: (repo) => ({
    path: `/repos/${pathOf(repo, 'branches')}?limit=50`,
    read: (page) => ({
      items: list(page.body).flatMap((branch) => {
        const [name, revision] = [text(branch, 'name'), text(branch, 'commit', 'id')]
        return name === undefined || revision === undefined ? [] : [{ name, revision, commit: factsOf(branch) }]
      }),
      next: nextByLink(page),
    }),
  }),
  commit: (repo, revision) => ({
    path: `/repos/${pathOf(repo, 'git/commits', revision)}?stat=false&verification=false&files=false`,
    read: (body) => defined({ message: text(body, 'commit', 'message'), author: text(body, 'commit', 'author', 'name') }),
  }),
}

function factsOf(branch: unknown): CommitFacts {
  return defined({
    message: text(branch, 'commit', 'message'),
    author: text(branch, 'commit', 'author', 'username') ?? text(branch, 'commit', 'author', 'name'),
    url: text(branch, 'commit', 'url'),
  })
}

/** The commits after the common ancestor, each with its files. They are those of a push only if one of them follows the commit before the push. */
function readComparison({ body }: ForgePage, base: string): { items: string[]; isPartial: boolean } {
  const commits = list(body, 'commits')
  const isAhead = commits.some((commit) => list(commit, 'parents').some((parent) => text(parent, 'sha') === base))
  const isWhole = commits.every((commit) => Array.isArray(at(commit, 'files')))
  const files = commits.flatMap((commit) => list(commit, 'files').flatMap((file) => text(file, 'filename') ?? []))
  return {
    items: [...new Set(files)],
    isPartial: !isAhead || !isWhole || commits.length < Number(text(body, 'total_commits') ?? 0),
  }
}
