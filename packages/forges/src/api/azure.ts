/** The REST API of Azure DevOps, version 7.0. */
import { defined } from '@windlass/kit'
import { FORGE_ENDPOINTS } from '@windlass/protocol'
import { flag, list, readRef, text } from '../fields.ts'
import { pathOf, withQuery, type CommitStatus, type ForgeApi, type ForgePage, type Page } from './forge-api.ts'

const VERSION = 'api-version=7.0'
const PAGE = 1_000

const STATES: Readonly<Record<CommitStatus['state'], string>> = {
  pending: 'pending',
  success: 'succeeded',
  failure: 'failed',
  error: 'error',
}

export const azureApi: ForgeApi = {
  ...FORGE_ENDPOINTS.azure,
  status: ({ repo, revision, state, url, description, title }) => ({
    path: `${repositoryOf(repo)}/commits/${revision}/statuses?${VERSION}`,
    body: { state: STATES[state], targetUrl: url, description, context: { name: title, genre: 'windlass' } },
  }),
  // With `diffCommonCommit` the comparison begins at the common ancestor, as that of a pull request.
  files: ({ repo, pull, base, head }) =>
    base === undefined || head === undefined
      ? undefined
      : {
          path:
            `${repositoryOf(repo)}/diffs/commits?baseVersion=${base}&baseVersionType=commit&targetVersion=${head}` +
            `&targetVersionType=commit&diffCommonCommit=${pull !== undefined}&$top=${PAGE}&$skip=0&${VERSION}`,
          read: readChanges,
        },
  branches: (repo) => ({
    path: `${repositoryOf(repo)}/refs?filter=heads/&$top=${PAGE}&${VERSION}`,
    read: ({ url, body, headers }) => {
      const token = headers['x-ms-continuationtoken']
      return {
        items: list(body, 'value').flatMap((ref) => {
          const [name, revision] = [readRef(text(ref, 'name')), text(ref, 'objectId')]
          return name === undefined || name.isTag || revision === undefined ? [] : [{ name: name.name, revision }]
        }),
        next: typeof token === 'string' && token !== '' ? withQuery(url, { continuationToken: token }) : undefined,
      }
    },
  }),
  commit: (repo, revision) => ({
    path: `${repositoryOf(repo)}/commits/${revision}?${VERSION}`,
    read: (body) =>
      defined({ message: text(body, 'comment'), author: text(body, 'author', 'name'), url: text(body, 'remoteUrl') }),
  }),
}

function repositoryOf(repo: string): string {
  const slash = repo.lastIndexOf('/')
  return `/${pathOf(repo.slice(0, slash), '_apis/git/repositories', repo.slice(slash + 1))}`
}

/** Folders are changes, too. Paths begin with a slash. */
function readChanges({ url, body }: ForgePage): Page<string> {
  const changes = list(body, 'changes')
  const items = changes.flatMap((change) =>
    flag(change, 'item', 'isFolder') === true
      ? []
      : [text(change, 'item', 'path'), text(change, 'sourceServerItem')].flatMap((path) => path?.replace(/^\//, '') ?? []),
  )
  if (flag(body, 'allChangesIncluded') === true) return { items }
  const skip = Number(url.searchParams.get('$skip') ?? 0) + changes.length
  return changes.length === 0 ? { items, isPartial: true } : { items, next: withQuery(url, { $skip: String(skip) }) }
}
