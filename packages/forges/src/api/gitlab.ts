/** The REST API of GitLab, version 4. */
import { defined } from '@windlass/kit'
import { FORGE_ENDPOINTS } from '@windlass/protocol'
import { flag, list, text, webAddress } from '../fields.ts'
import { nextByLink, type CommitStatus, type ForgeApi } from './forge-api.ts'

/** A comparison of more files may contain only some of them: `diff_max_files` of an instance is 1,000 unless it is changed. */
const MAX_FILES = 1_000

const STATES: Readonly<Record<CommitStatus['state'], string>> = {
  pending: 'running',
  success: 'success',
  failure: 'failed',
  error: 'canceled',
}

export const gitlabApi: ForgeApi = {
  ...FORGE_ENDPOINTS.gitlab,
  status: ({ repo, revision, state, url, description, title }) => ({
    path: `${projectOf(repo)}/statuses/${revision}`,
    body: { state: STATES[state], target_url: url, description, name: title },
  }),
  // GitLab has states and transitions between them, and none from a state to itself.
  hasStatus: ({ status, body = '' }) =>
    status === 400 && /Cannot transition status via :(?:run|enqueue) from :(?:running|pending)/.test(body),
  files({ repo, pull, base, head }) {
    if (pull !== undefined)
      return {
        path: `${projectOf(repo)}/merge_requests/${pull}/diffs?per_page=50`,
        limit: MAX_FILES,
        read: (page) => ({ items: list(page.body).flatMap(namesOf), next: nextByLink(page) }),
      }
    if (base === undefined || head === undefined) return undefined
    return {
      path: `${projectOf(repo)}/repository/compare?from=${base}&to=${head}&straight=true`,
      limit: MAX_FILES,
      read: ({ body }) => ({
        items: list(body, 'diffs').flatMap(namesOf),
        isPartial: flag(body, 'compare_timeout') === true,
      }),
    }
  },
  branches: (repo) => ({
    path: `${projectOf(repo)}/repository/branches?per_page=100`,
    read: (page) => ({
      items: list(page.body).flatMap((branch) => {
        const [name, revision] = [text(branch, 'name'), text(branch, 'commit', 'id')]
        return name === undefined || revision === undefined
          ? []
          : [
              {
                name,
                revision,
                commit: defined({
                  message: text(branch, 'commit', 'message'),
                  author: text(branch, 'commit', 'author_name'),
                  url: webAddress(branch, 'commit', 'web_url'),
                }),
              },
            ]
      }),
      next: nextByLink(page),
    }),
  }),
  commit: (repo, revision) => ({
    path: `${projectOf(repo)}/repository/commits/${revision}?stats=false`,
    read: (body) =>
      defined({ message: text(body, 'message'), author: text(body, 'author_name'), url: webAddress(body, 'web_url') }),
  }),
}

function projectOf(repo: string): string {
  return `/projects/${encodeURIComponent(repo)}`
}

function namesOf(diff: unknown): string[] {
  const [path, before] = [text(diff, 'new_path'), text(diff, 'old_path')]
  return [...new Set([path, before].filter((name) => name !== undefined))]
}
