/** The REST API of Bitbucket Server and Data Center, version 1.0. */
import { defined } from '@windlass/kit'
import { FORGE_ENDPOINTS } from '@windlass/protocol'
import { flag, list, text } from '../fields.ts'
import { buildStatus } from './bitbucket.ts'
import { pathOf, withQuery, type ForgeApi, type ForgePage } from './forge-api.ts'

export const bitbucketServerApi: ForgeApi = {
  ...FORGE_ENDPOINTS['bitbucket-server'],
  status: (status) => ({ path: `/build-status/1.0/commits/${status.revision}`, body: buildStatus(status) }),
  files({ repo, pull, base, head }) {
    const path =
      pull === undefined
        ? base === undefined || head === undefined
          ? undefined
          : `${repositoryOf(repo)}/changes?since=${base}&until=${head}&limit=500`
        : `${repositoryOf(repo)}/pull-requests/${pull}/changes?limit=500`
    return path === undefined
      ? undefined
      : {
          path,
          read: (page) => ({
            items: list(page.body, 'values').flatMap((change) =>
              [text(change, 'path', 'toString'), text(change, 'srcPath', 'toString')].filter((name) => name !== undefined),
            ),
            next: nextOf(page),
          }),
        }
  },
  branches: (repo) => ({
    path: `${repositoryOf(repo)}/branches?limit=500`,
    read: (page) => ({
      items: list(page.body, 'values').flatMap((branch) => {
        const [name, revision] = [text(branch, 'displayId'), text(branch, 'latestCommit')]
        return name === undefined || revision === undefined ? [] : [{ name, revision }]
      }),
      next: nextOf(page),
    }),
  }),
  commit: (repo, revision) => ({
    path: `${repositoryOf(repo)}/commits/${revision}`,
    read: (body) => defined({ message: text(body, 'message'), author: text(body, 'author', 'name') }),
  }),
}

/** The owner of a repository is the key of its project; `~name` for users. */
export function repositoryOf(repo: string): string {
  const slash = repo.lastIndexOf('/')
  return `/api/1.0/projects/${pathOf(repo.slice(0, slash))}/repos/${pathOf(repo.slice(slash + 1))}`
}

export function nextOf({ url, body }: ForgePage): URL | undefined {
  const start = text(body, 'nextPageStart')
  return flag(body, 'isLastPage') === false && start !== undefined ? withQuery(url, { start }) : undefined
}
