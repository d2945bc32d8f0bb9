/** Bodies of webhook calls, with the fields that the documentation of each forge gives them. */

export const COMMIT = 'a1'.repeat(20)
export const BEFORE = 'b2'.repeat(20)
export const NO_COMMIT = '0'.repeat(40)

type Json = Readonly<Record<string, unknown>>

const REPOSITORY = { id: 1, name: 'app', full_name: 'Acme/app', owner: { login: 'Acme' } }

/** A push to GitHub or Gitea. */
export function githubPush(more: Json = {}): Json {
  return {
    ref: 'refs/heads/main',
    before: BEFORE,
    after: COMMIT,
    forced: false,
    repository: REPOSITORY,
    pusher: { name: 'ann' },
    sender: { login: 'ann' },
    head_commit: {
      id: COMMIT,
      message: 'Fix "it"',
      url: 'https://github.test/Acme/app/commit/a1',
      author: { name: 'Ann', username: 'ann' },
    },
    commits: [{ id: COMMIT, message: 'Fix "it"', added: ['src/new.ts'], removed: [], modified: ['README.md'] }],
    ...more,
  }
}

/** The end of a branch or tag at Gitea. */
export function giteaDelete(more: Json = {}): Json {
  return { ref: 'feature/x', ref_type: 'branch', pusher_type: 'user', repository: REPOSITORY, sender: { login: 'ann' }, ...more }
}

export interface PullOptions {
  readonly fork?: boolean
  readonly branch?: string
  readonly commit?: string
  readonly number?: number
  readonly association?: string
  readonly merged?: boolean
  readonly state?: string
}

export function githubPull(action: string, { fork = false, state = 'open', ...more }: PullOptions = {}): Json {
  return {
    action,
    repository: REPOSITORY,
    sender: { login: 'bob' },
    pull_request: pull({ fork, state, ...more }),
  }
}

function pull({
  fork,
  association,
  merged,
  state,
  branch,
  commit,
  number,
}: { fork: boolean; state: string } & PullOptions): Json {
  return {
    id: 900,
    number: number ?? 7,
    state,
    title: "Add 'x'",
    html_url: 'https://github.test/Acme/app/pull/7',
    updated_at: '2026-01-02T03:04:05Z',
    user: { login: 'bob' },
    ...(association !== undefined && { author_association: association }),
    labels: [{ name: 'bug' }, { name: 'ci' }],
    head: { ref: branch ?? 'feature/x', sha: commit ?? COMMIT, repo: { id: fork ? 2 : 1 } },
    base: { ref: 'main', sha: BEFORE, repo: { id: 1 } },
    ...(merged !== undefined && { merged, merge_commit_sha: merged ? BEFORE : null }),
  }
}

export function githubReview(state: string): Json {
  return { ...githubPull('submitted'), review: { id: 55, state } }
}

export function githubComment(body: string, association: string): Json {
  return {
    action: 'created',
    repository: REPOSITORY,
    sender: { login: 'bob' },
    issue: { id: 901, number: 7, title: 'Add x', user: { login: 'bob' }, pull_request: { url: 'https://github.test/pulls/7' } },
    comment: { id: 77, body, user: { login: 'bob' }, author_association: association },
  }
}

export function githubRelease(action: string): Json {
  const release = { id: 5, name: 'One', tag_name: 'v1.0.0', prerelease: false, author: { login: 'ann' } }
  return { action, repository: REPOSITORY, sender: { login: 'ann' }, release }
}

const PROJECT = { id: 1, path_with_namespace: 'acme/team/app' }

export function gitlabPush(more: Json = {}): Json {
  return {
    object_kind: 'push',
    ref: 'refs/heads/main',
    before: BEFORE,
    after: COMMIT,
    checkout_sha: COMMIT,
    user_username: 'ann',
    project: PROJECT,
    total_commits_count: 1,
    commits: [{ id: COMMIT, message: 'Fix it', url: 'https://gitlab.test/c', author: { name: 'Ann' }, added: ['a.md'] }],
    ...more,
  }
}

export function gitlabMergeRequest(action: string, more: Json = {}, top: Json = {}): Json {
  return {
    object_kind: 'merge_request',
    user: { username: 'bob' },
    project: PROJECT,
    labels: [{ title: 'bug' }],
    object_attributes: { ...REQUEST, action, ...more },
    ...top,
  }
}

const REQUEST = {
  id: 90,
  iid: 7,
  title: 'Add x',
  state: 'opened',
  source_branch: 'feature/x',
  target_branch: 'main',
  source_project_id: 1,
  target_project_id: 1,
  updated_at: '2026-01-02 03:04:05 UTC',
  last_commit: { id: COMMIT, message: 'Add x', author: { name: 'Bob' } },
}

export function gitlabNote(note: string): Json {
  return {
    object_kind: 'note',
    user: { username: 'bob' },
    project: PROJECT,
    object_attributes: { id: 77, note, noteable_type: 'MergeRequest' },
    merge_request: REQUEST,
  }
}

export function gitlabRelease(action: string): Json {
  const commit = { id: COMMIT, message: 'Release', author: { name: 'Ann' } }
  return { object_kind: 'release', id: 5, action, name: 'One', tag: 'v1.0.0', project: PROJECT, commit }
}

export const CLOUD_USER = { nickname: 'ann', display_name: 'Ann', account_id: '557058:c0ffee', uuid: '{5f}' }
const CLOUD = { repository: { full_name: 'acme/app' }, actor: CLOUD_USER }
const target = { hash: COMMIT, message: 'Fix it', author: { raw: 'Ann <ann@example.test>' } }

export function bitbucketPush(change: Json = {}): Json {
  const [to, from] = [
    { type: 'branch', name: 'main', target },
    { type: 'branch', name: 'main', target: { hash: BEFORE } },
  ]
  return { ...CLOUD, push: { changes: [{ new: to, old: from, ...change }] } }
}

export function bitbucketPull(more: Json = {}): Json {
  const pullrequest = {
    id: 7,
    title: 'Add x',
    state: 'OPEN',
    author: { nickname: 'bob' },
    updated_on: '2026-01-02T03:04:05Z',
    source: { branch: { name: 'feature/x' }, commit: { hash: COMMIT.slice(0, 12) }, repository: { full_name: 'acme/app' } },
    destination: { branch: { name: 'main' }, repository: { full_name: 'acme/app' } },
  }
  return { ...CLOUD, pullrequest, ...more }
}

const SERVER_REPOSITORY = { id: 1, slug: 'app', project: { key: 'ACME' } }

export function serverPush(change: Json = {}): Json {
  const ref = { id: 'refs/heads/main', displayId: 'main', type: 'BRANCH' }
  return {
    eventKey: 'repo:refs_changed',
    date: '2026-01-02T03:04:05+0000',
    actor: { name: 'ann' },
    repository: SERVER_REPOSITORY,
    changes: [{ ref, refId: ref.id, fromHash: BEFORE, toHash: COMMIT, type: 'UPDATE', ...change }],
  }
}

export function serverPull(more: Json = {}): Json {
  const pullRequest = {
    id: 7,
    title: 'Add x',
    state: 'OPEN',
    updatedDate: 5,
    author: { user: { name: 'bob' } },
    fromRef: { displayId: 'feature/x', latestCommit: COMMIT, repository: SERVER_REPOSITORY },
    toRef: { displayId: 'main', repository: SERVER_REPOSITORY },
  }
  return { date: '2026-01-02T03:04:05+0000', actor: { name: 'bob' }, pullRequest, ...more }
}

const AZURE_REPOSITORY = { name: 'app', project: { name: 'acme' } }

export function azurePush(update: Json = {}): Json {
  return {
    id: 'e1',
    eventType: 'git.push',
    resource: {
      repository: AZURE_REPOSITORY,
      pushedBy: { uniqueName: 'ann@example.test' },
      commits: [{ commitId: COMMIT, comment: 'Fix it', author: { name: 'Ann' }, url: 'https://azure.test/c' }],
      refUpdates: [{ name: 'refs/heads/main', oldObjectId: BEFORE, newObjectId: COMMIT, ...update }],
    },
  }
}

const AZURE_PULL = {
  repository: AZURE_REPOSITORY,
  pullRequestId: 7,
  status: 'active',
  title: 'Add x',
  sourceRefName: 'refs/heads/feature/x',
  targetRefName: 'refs/heads/main',
  createdBy: { uniqueName: 'bob@example.test' },
  lastMergeSourceCommit: { commitId: COMMIT },
}

export function azurePull(event: string, message = '', more: Json = {}): Json {
  return { id: 'e2', eventType: `git.pullrequest.${event}`, message: { text: message }, resource: { ...AZURE_PULL, ...more } }
}

export function azureComment(content: string): Json {
  const comment = { id: 77, content, author: { uniqueName: 'bob@example.test' } }
  return {
    id: 'e3',
    eventType: 'ms.vss-code.git-pullrequest-comment-event',
    resource: { comment, pullRequest: AZURE_PULL },
  }
}
