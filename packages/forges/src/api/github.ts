/** The REST API of GitHub (api.github.com, version 2022-11-28) and of GitHub Enterprise. */
import { defined } from '@windlass/kit'
import { FORGE_ENDPOINTS } from '@windlass/protocol'
import { at, list, text, webAddress } from '../fields.ts'
import { nextByLink, pathOf, type CommitStatus, type ForgeApi, type ForgePage, type Listing } from './forge-api.ts'

/** A comparison contains at most 300 files, and a pull request at most 3,000. */
const MAX_COMPARED = 300
const MAX_OF_PULL = 3_000

export const githubApi: ForgeApi = {
  ...FORGE_ENDPOINTS.github,
  status: (status) => ({ path: `/repos/${pathOf(status.repo, 'statuses', status.revision)}`, body: statusBody(status) }),
  files({ repo, pull, base, head }) {
    if (pull !== undefined)
      return { ...filesOfPull(`/repos/${pathOf(repo, 'pulls', pull)}/files?per_page=100`), limit: MAX_OF_PULL }
    if (base === undefined || head === undefined) return undefined
    return { path: `/repos/${pathOf(repo, 'compare')}/${base}...${head}?per_page=1`, limit: MAX_COMPARED, read: readComparison }
  },
  branches: (repo) => ({
    path: `/repos/${pathOf(repo, 'branches')}?per_page=100`,
    read: (page) => ({
      items: list(page.body).flatMap((branch) => {
        const [name, revision] = [text(branch, 'name'), text(branch, 'commit', 'sha')]
        return name === undefined || revision === undefined ? [] : [{ name, revision }]
      }),
      next: nextByLink(page),
    }),
  }),
  commit: (repo, revision) => ({
    path: `/repos/${pathOf(repo, 'commits', revision)}?per_page=1`,
    read: (body) =>
      defined({
        message: text(body, 'commit', 'message'),
        author: text(body, 'author', 'login') ?? text(body, 'commit', 'author', 'name'),
        url: webAddress(body, 'html_url'),
      }),
  }),
}

/** Returns the body of a commit status, which Gitea takes in the same form. */
export function statusBody({ state, url, description, title }: CommitStatus): object {
  return { state, target_url: url, description, context: title }
}

/** Returns the files of a pull request, which Gitea returns in the same form. */
export function filesOfPull(path: string): Listing<string> {
  return { path, read: (page) => ({ items: list(page.body).flatMap(namesOf), next: nextByLink(page) }) }
}

function namesOf(file: unknown): string[] {
  return [text(file, 'filename'), text(file, 'previous_filename')].filter((name) => name !== undefined)
}

/** A comparison begins at the common ancestor, so it is that of a push only if nothing was removed. All files are on the first page. */
function readComparison({ body }: ForgePage): { items: string[]; isPartial: boolean } {
  const status = text(body, 'status')
  const files = at(body, 'files')
  return {
    items: list(files).flatMap(namesOf),
    isPartial: !Array.isArray(files) || (status !== 'ahead' && status !== 'identical'),
  }
}
