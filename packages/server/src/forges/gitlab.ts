/** Webhooks of GitLab. */
import { at, isNoCommit, joined, list, readRef, splitRepo, text } from '@windlass/forges'
import { defined } from '@windlass/kit'
import type { EventName } from '@windlass/protocol'
import { unsupported, type EventRepo, type ForgeEvent, type ReadEvent } from './event.ts'
import type { ForgeReader } from './forge-reader.ts'
import { pushEvent } from './push.ts'
import { isSame } from './signature.ts'

export const gitlab: ForgeReader = {
  headers: ['x-gitlab-event', 'x-gitlab-event-uuid', 'idempotency-key', 'x-gitlab-webhook-uuid'],
  verify: ({ headers, secret }) => isSame(headers['x-gitlab-token'], secret),
  // A repeated call has the same idempotency key. The UUID of the event is shared by all webhooks that it calls.
  deliveryId: (headers) => headers['idempotency-key'] ?? headers['x-gitlab-event-uuid'],
  eventName: (headers, body) => headers['x-gitlab-event'] ?? text(body, 'object_kind'),
  headersFor: (event) => ({ 'x-gitlab-event': event }),
  parse(_headers, body) {
    const kind = text(body, 'object_kind')
    const of = splitRepo(text(body, 'project', 'path_with_namespace'))
    if (kind === undefined || of === undefined)
      return [{ reason: 'payload-invalid', message: 'The body names no event or no project.' }]
    const repo = { repo: of.repo, facts: { repoOwner: of.repoOwner, repoName: of.repoName } }
    const read = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined
    return [read?.(body, repo) ?? unsupported(kind)]
  },
}

const KINDS: Readonly<Record<string, (body: unknown, repo: EventRepo) => ReadEvent>> = {
  push: readPush,
  tag_push: readPush,
  merge_request: readMergeRequest,
  note: readNote,
  release: readRelease,
}

function readPush(body: unknown, { repo, facts }: EventRepo): ReadEvent {
  const ref = readRef(text(body, 'ref'))
  if (ref === undefined) return unsupported(`push to ${text(body, 'ref') ?? 'no ref'}`)
  const commits = list(body, 'commits')
  const after = text(body, 'after')
  const sha = text(body, 'checkout_sha')
  const head = commits.find((commit) => text(commit, 'id') === (sha ?? after)) ?? commits.at(-1)
  const isWhole = commits.length > 0 && commits.length >= Number(text(body, 'total_commits_count') ?? commits.length)
  return pushEvent({
    repo,
    ...ref,
    before: text(body, 'before'),
    after: isNoCommit(after) ? after : (sha ?? after),
    sender: text(body, 'user_username') ?? text(body, 'user_name'),
    files: isWhole ? filesOf(commits) : 'unknown',
    git: {
      ...facts,
      ...defined({
        commitMessage: text(head, 'message') ?? text(body, 'message'),
        commitAuthor: text(head, 'author', 'name') ?? text(body, 'user_username'),
        commitUrl: text(head, 'url'),
      }),
    },
  })
}

function filesOf(commits: readonly unknown[]): string[] {
  const files = commits.flatMap((commit) => ['added', 'removed', 'modified'].flatMap((field) => list(commit, field)))
  return [...new Set(files.filter((file) => typeof file === 'string'))]
}

const ACTIONS: Readonly<Record<string, readonly [EventName, ...EventName[]]>> = {
  open: ['pullrequest.opened'],
  close: ['pullrequest.unmerged-closed', 'pullrequest.closed'],
  reopen: ['pullrequest.reopened'],
  merge: ['pullrequest.merged', 'pullrequest.closed'],
  approved: ['pullrequest.review.submitted.approved'],
}

function readMergeRequest(body: unknown, repo: EventRepo): ReadEvent {
  const request = at(body, 'object_attributes')
  const action = text(request, 'action') ?? ''
  const known = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined
  const names = action === 'update' ? updateNames(body) : known
  if (names === undefined) return unsupported(`merge_request ${action}`)
  return {
    ...mergeRequestFacts(body, repo, request),
    names: action === 'approved' ? [...names] : [...names, 'pullrequest'],
    occurrence: `${action}/${text(request, 'updated_at') ?? ''}/${text(request, 'oldrev') ?? ''}`,
  }
}

/** An update has `oldrev` if commits were pushed. */
function updateNames(body: unknown): [EventName, ...EventName[]] {
  if (text(body, 'object_attributes', 'oldrev') !== undefined) return ['pullrequest.pushCommit', 'pullrequest.synchronize']
  const labels = at(body, 'changes', 'labels')
  if (labels === undefined) return ['pullrequest.edited']
  const isMore = list(labels, 'current').length >= list(labels, 'previous').length
  return [isMore ? 'pullrequest.labeled' : 'pullrequest.unlabeled', 'pullrequest.edited']
}

function readNote(body: unknown, repo: EventRepo): ReadEvent {
  const note = at(body, 'object_attributes')
  const request = at(body, 'merge_request')
  if (request === undefined) return unsupported('a comment outside of a merge request')
  if ((text(note, 'action') ?? 'create') !== 'create') return unsupported('an edited comment')
  const author = text(body, 'user', 'username') ?? ''
  const comment = {
    text: text(note, 'note') ?? '',
    author,
    authorMayWrite: author === repo.facts.repoOwner ? true : undefined,
  }
  const { git, ...rest } = mergeRequestFacts(body, repo, request)
  return {
    ...rest,
    names: ['pullrequest.commentAdded', 'pullrequest.commentAddedUnrestricted'],
    occurrence: text(note, 'id') ?? '',
    comment,
    git: { ...git, pullRequest: { ...git.pullRequest, comment: comment.text, commentAuthor: author } },
  }
}

function mergeRequestFacts(
  body: unknown,
  { repo, facts }: EventRepo,
  request: unknown,
): Omit<ForgeEvent, 'names' | 'occurrence'> {
  const commit = at(request, 'last_commit')
  const [from, to] = [text(request, 'source_project_id'), text(request, 'target_project_id')]
  const headCommit = text(commit, 'id')
  const state = text(request, 'state')
  return {
    repo,
    ...defined({ branch: text(request, 'source_branch'), revision: headCommit, sender: text(body, 'user', 'username') }),
    files: 'unknown',
    // The body does not say what the author of a merge request may do.
    pullRequest: { isFork: from === undefined || to === undefined ? undefined : from !== to, authorMayWrite: undefined },
    git: {
      ...facts,
      ...defined({
        commitMessage: text(commit, 'message'),
        commitAuthor: text(commit, 'author', 'name'),
        commitUrl: text(commit, 'url'),
      }),
      pullRequest: defined({
        action: text(request, 'action'),
        id: text(request, 'id'),
        number: text(request, 'iid'),
        target: text(request, 'target_branch'),
        headBranch: text(request, 'source_branch'),
        headCommit,
        labels: joined(list(body, 'labels'), 'title'),
        title: text(request, 'title'),
        merged: state === 'merged' ? true : state === 'closed' ? false : undefined,
        mergedCommit: text(request, 'merge_commit_sha'),
      }),
    },
  }
}

const RELEASES: Readonly<Record<string, readonly [EventName, ...EventName[]]>> = {
  create: ['release.created', 'release'],
  update: ['release.edited'],
  delete: ['release.deleted'],
}

function readRelease(body: unknown, { repo, facts }: EventRepo): ReadEvent {
  const action = text(body, 'action') ?? ''
  const names = Object.hasOwn(RELEASES, action) ? RELEASES[action] : undefined
  if (names === undefined) return unsupported(`release ${action}`)
  return {
    names: [...names],
    repo,
    ...defined({ branch: text(body, 'tag'), revision: text(body, 'commit', 'id') }),
    occurrence: `${text(body, 'id') ?? ''}/${action}/${text(body, 'released_at') ?? ''}`,
    files: 'all',
    git: {
      ...facts,
      ...defined({
        commitMessage: text(body, 'commit', 'message'),
        commitAuthor: text(body, 'commit', 'author', 'name'),
        commitUrl: text(body, 'commit', 'url'),
      }),
      release: defined({ name: text(body, 'name'), tag: text(body, 'tag'), id: text(body, 'id') }),
    },
  }
}
