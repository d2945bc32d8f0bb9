/** The REST API of Bitbucket Cloud, version 2.0. */
import { defined, sha256 } from '@windlass/kit'
import { FORGE_ENDPOINTS } from '@windlass/protocol'
import { list, text, webAddress } from '../fields.ts'
import { pathOf, queryOfNext, type CommitStatus, type ForgeApi, type ForgePage } from './forge-api.ts'

const STATES: Readonly<Record<CommitStatus['state'], string>> = {
  pending: 'INPROGRESS',
  success: 'SUCCESSFUL',
  failure: 'FAILED',
  error: 'FAILED',
}

export const bitbucketApi: ForgeApi = {
  ...FORGE_ENDPOINTS.bitbucket,
  status: (status) => ({
    path: `/repositories/${pathOf(status.repo, 'commit', status.revision, 'statuses/build')}`,
    body: buildStatus(status),
  }),
  // The list of a pull request is a redirect to that of its commits. `topic` compares with the common ancestor.
  files: ({ repo, pull, base, head }) =>
    base === undefined || head === undefined
      ? undefined
      : {
          path: `/repositories/${pathOf(repo, 'diffstat')}/${head}..${base}?topic=${pull !== undefined}&pagelen=100`,
          read: (page) => ({
            items: list(page.body, 'values').flatMap((change) => [
              ...new Set([text(change, 'new', 'path'), text(change, 'old', 'path')].filter((path) => path !== undefined)),
            ]),
            next: nextOf(page),
          }),
        },
  branches: (repo) => ({
    path: `/repositories/${pathOf(repo, 'refs/branches')}?pagelen=100`,
    read: (page) => ({
      items: list(page.body, 'values').flatMap((branch) => {
        const [name, revision] = [text(branch, 'name'), text(branch, 'target', 'hash')]
        if (name === undefined || revision === undefined) return []
        const author = text(branch, 'target', 'author', 'user', 'nickname') ?? text(branch, 'target', 'author', 'raw')
        const url = webAddress(branch, 'target', 'links', 'html', 'href')
        return [{ name, revision, commit: defined({ message: text(branch, 'target', 'message'), author, url }) }]
      }),
      next: nextOf(page),
    }),
  }),
  commit: (repo, revision) => ({
    path: `/repositories/${pathOf(repo, 'commit', revision)}`,
    read: (body) =>
      defined({
        message: text(body, 'message'),
        author: text(body, 'author', 'raw'),
        url: webAddress(body, 'links', 'html', 'href'),
      }),
  }),
}

/** Maximum length of the key, by which Bitbucket tells the statuses of one commit apart. */
const MAX_KEY = 40

/** Returns the body of a build status, which Bitbucket Server takes in the same form. */
export function buildStatus({ state, url, description, title }: CommitStatus): object {
  // Long titles may begin alike.
  const key = title.length <= MAX_KEY ? title : sha256(title).slice(0, MAX_KEY)
  return { key, name: title, state: STATES[state], url, description }
}

function nextOf({ url, body }: ForgePage): URL | undefined {
  return queryOfNext(url, text(body, 'next'))
}
