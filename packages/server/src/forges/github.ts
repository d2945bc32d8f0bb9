/** Webhooks of GitHub. Gitea sends bodies of the same form and uses `parseGithub`. */
import { at, flag, isNoCommit, joined, list, readRef, splitRepo, text } from '@windlass/forges'
import { defined } from '@windlass/kit'
import type { EventName } from '@windlass/protocol'
import { unsupported, type Comment, type EventRepo, type ForgeEvent, type ReadEvent } from './event.ts'
import type { ForgeReader } from './forge-reader.ts'
import { pushEvent } from './push.ts'
import { isHmacOf } from './signature.ts'

export const github: ForgeReader = {
  headers: ['x-github-event', 'x-github-delivery'],
  verify: ({ headers, body, secret }) => isHmacOf(headers['x-hub-signature-256']?.replace(/^sha256=/, ''), body, secret),
  deliveryId: (headers) => headers['x-github-delivery'],
  eventName: (headers) => headers['x-github-event'],
  headersFor: (event) => ({ 'x-github-event': event }),
  parse: (headers, body) => [parseGithub(headers['x-github-event'], body)],
}

/** Reads an event by its name. */
export function parseGithub(name: string | undefined, body: unknown): ReadEvent {
  const of = splitRepo(text(body, 'repository', 'full_name'))
  if (name === 'ping') return unsupported('ping')
  if (of === undefined) return { reason: 'payload-invalid', message: 'The body names no repository.' }
  const repo = { repo: of.repo, facts: { repoOwner: of.repoOwner, repoName: of.repoName } }
  switch (name) {
    case 'push':
      return readPush(body, repo)
    case 'pull_request':
      return readPullRequest(body, repo)
    case 'pull_request_review':
      return readReview(body, repo)
    case 'issue_comment':
    case 'pull_request_review_comment':
      return readComment(body, repo)
    case 'release':
      return readRelease(body, repo)
    default:
      return unsupported(name)
  }
}

function readPush(body: unknown, { repo, facts }: EventRepo): ReadEvent {
  const ref = readRef(text(body, 'ref'))
  if (ref === undefined) return unsupported(`push to ${text(body, 'ref') ?? 'no ref'}`)
  const head = at(body, 'head_commit')
  const after = text(body, 'after')
  const base = readRef(text(body, 'base_ref'))
  return pushEvent({
    repo,
    ...ref,
    before: text(body, 'before'),
    // `after` of an annotated tag is the tag. Its commit is the head.
    after: ref.isTag && !isNoCommit(after) ? (text(head, 'id') ?? after) : after,
    sender: text(body, 'sender', 'login') ?? text(body, 'pusher', 'name'),
    files: filesOf(body),
    git: {
      ...facts,
      ...defined({
        baseBranch: ref.isTag ? base?.name : undefined,
        commitMessage: text(head, 'message'),
        commitAuthor: text(head, 'author', 'username') ?? text(head, 'author', 'name'),
        commitUrl: text(head, 'url'),
      }),
    },
  })
}

/** Maximum number of commits that GitHub names in a push. */
const MAX_COMMITS = 2_048

/** Returns the changed files of a push. Unknown if the body does not contain all of its commits. */
function filesOf(body: unknown): readonly string[] | 'unknown' {
  const commits = list(body, 'commits')
  const total = Number(text(body, 'total_commits') ?? commits.length)
  const isForced = flag(body, 'forced') === true
  if (isForced || commits.length === 0 || commits.length < total || commits.length >= MAX_COMMITS) return 'unknown'
  const lists = commits.flatMap((commit) => ['added', 'removed', 'modified'].map((field) => at(commit, field)))
  if (!lists.every(Array.isArray)) return 'unknown'
  return [...new Set(lists.flat().filter((file): file is string => typeof file === 'string'))]
}

const ACTIONS: Readonly<Record<string, readonly [EventName, ...EventName[]]>> = {
  opened: ['pullrequest.opened'],
  reopened: ['pullrequest.reopened'],
  edited: ['pullrequest.edited'],
  assigned: ['pullrequest.assigned'],
  unassigned: ['pullrequest.unassigned'],
  review_requested: ['pullrequest.review_requested', 'pullrequest.reviewRequested'],
  review_request_removed: ['pullrequest.review_request_removed', 'pullrequest.reviewRequestRemoved'],
  labeled: ['pullrequest.labeled'],
  unlabeled: ['pullrequest.unlabeled'],
  // Gitea names the actions of labels and commits differently.
  label_updated: ['pullrequest.labeled'],
  label_cleared: ['pullrequest.unlabeled'],
  synchronize: ['pullrequest.synchronize', 'pullrequest.pushCommit'],
  synchronized: ['pullrequest.synchronize', 'pullrequest.pushCommit'],
}

function readPullRequest(body: unknown, repo: EventRepo): ReadEvent {
  const action = text(body, 'action') ?? ''
  const names = action === 'closed' ? closedNames(body) : Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined
  if (names === undefined) return unsupported(`pull_request ${action}`)
  return {
    ...pullRequestFacts(body, repo, at(body, 'pull_request')),
    names: [...names, 'pullrequest'],
    occurrence: `${action}/${text(body, 'pull_request', 'updated_at') ?? ''}`,
  }
}

function closedNames(body: unknown): [EventName, ...EventName[]] {
  const isMerged = flag(body, 'pull_request', 'merged') === true
  return [isMerged ? 'pullrequest.merged' : 'pullrequest.unmerged-closed', 'pullrequest.closed']
}

const REVIEWS: Readonly<Record<string, EventName>> = {
  approved: 'pullrequest.review.submitted.approved',
  commented: 'pullrequest.review.submitted.commented',
  changes_requested: 'pullrequest.review.submitted.changes_requested',
}

function readReview(body: unknown, repo: EventRepo): ReadEvent {
  const state = text(body, 'review', 'state')?.toLowerCase() ?? ''
  const name = Object.hasOwn(REVIEWS, state) ? REVIEWS[state] : undefined
  if (text(body, 'action') !== 'submitted' || name === undefined) return unsupported('pull_request_review')
  return {
    ...pullRequestFacts(body, repo, at(body, 'pull_request')),
    names: [name],
    occurrence: text(body, 'review', 'id') ?? '',
  }
}

function readComment(body: unknown, repo: EventRepo): ReadEvent {
  const issue = at(body, 'issue')
  const pull = at(body, 'pull_request') ?? (flag(body, 'is_pull') === true ? issue : undefined)
  if (text(body, 'action') !== 'created') return unsupported('an edited or deleted comment')
  if (pull === undefined && at(issue, 'pull_request') === undefined) return unsupported('a comment on an issue')
  const comment = toComment(at(body, 'comment'), repo)
  const { git, ...rest } = pullRequestFacts(body, repo, pull ?? issue)
  return {
    ...rest,
    names: ['pullrequest.commentAdded', 'pullrequest.commentAddedUnrestricted'],
    occurrence: text(body, 'comment', 'id') ?? '',
    comment,
    git: { ...git, pullRequest: { ...git.pullRequest, comment: comment.text, commentAuthor: comment.author } },
  }
}

function toComment(comment: unknown, { facts }: EventRepo): Comment {
  const author = text(comment, 'user', 'login') ?? ''
  return { text: text(comment, 'body') ?? '', author, authorMayWrite: mayWrite(comment, author, facts.repoOwner) }
}

const WRITERS = ['OWNER', 'MEMBER', 'COLLABORATOR']

/** Private members of an organization have no association that shows it, so they count as strangers. */
function mayWrite(of: unknown, author: string | undefined, owner: string | undefined): boolean | undefined {
  const association = text(of, 'author_association')
  if (association !== undefined) return WRITERS.includes(association)
  return author !== undefined && author === owner ? true : undefined
}

/** Returns what all events of a pull request have. The issue of a comment stands in for a pull request whose branches the forge does not name. */
function pullRequestFacts(body: unknown, { repo, facts }: EventRepo, pull: unknown): Omit<ForgeEvent, 'names' | 'occurrence'> {
  const head = at(pull, 'head')
  const number = text(pull, 'number')
  const merged = flag(pull, 'merged')
  const isClosed = text(pull, 'state') === 'closed'
  const headCommit = text(head, 'sha')
  const author = text(pull, 'user', 'login')
  return {
    repo,
    ...defined({
      branch: text(head, 'ref'),
      revision: headCommit ?? (number === undefined ? undefined : `refs/pull/${number}/head`),
      sender: text(body, 'sender', 'login'),
    }),
    files: 'unknown',
    pullRequest: { isFork: isFork(pull), authorMayWrite: mayWrite(pull, author, facts.repoOwner) },
    git: {
      ...facts,
      ...defined({ commitAuthor: author, commitUrl: text(pull, 'html_url') }),
      pullRequest: defined({
        action: text(body, 'action'),
        id: text(pull, 'id'),
        number,
        target: text(pull, 'base', 'ref'),
        headBranch: text(head, 'ref'),
        headCommit,
        labels: joined(list(pull, 'labels'), 'name'),
        title: text(pull, 'title'),
        merged: isClosed ? merged === true : undefined,
        mergedCommit: merged === true ? text(pull, 'merge_commit_sha') : undefined,
      }),
    },
  }
}

/** A pull request without a repository comes from a fork that was deleted. */
function isFork(pull: unknown): boolean | undefined {
  if (at(pull, 'head') === undefined) return undefined
  const [from, to] = [text(pull, 'head', 'repo', 'id'), text(pull, 'base', 'repo', 'id')]
  return from === undefined || to === undefined || from !== to
}

const RELEASES: Readonly<Record<string, readonly [EventName, ...EventName[]]>> = {
  published: ['release'],
  unpublished: ['release.unpublished'],
  created: ['release.created'],
  edited: ['release.edited'],
  updated: ['release.edited'],
  deleted: ['release.deleted'],
  prereleased: ['release.prereleased'],
  released: ['release.released'],
}

function readRelease(body: unknown, { repo, facts }: EventRepo): ReadEvent {
  const action = text(body, 'action') ?? ''
  const release = at(body, 'release')
  const names = Object.hasOwn(RELEASES, action) ? RELEASES[action] : undefined
  if (names === undefined) return unsupported(`release ${action}`)
  return {
    names: [...names],
    repo,
    ...defined({ branch: text(release, 'tag_name'), sender: text(body, 'sender', 'login') }),
    occurrence: `${text(release, 'id') ?? ''}/${action}/${text(release, 'updated_at') ?? text(release, 'published_at') ?? ''}`,
    files: 'all',
    git: {
      ...facts,
      ...defined({ commitAuthor: text(release, 'author', 'login'), commitUrl: text(release, 'html_url') }),
      release: defined({
        name: text(release, 'name'),
        tag: text(release, 'tag_name'),
        id: text(release, 'id'),
        isPrerelease: flag(release, 'prerelease'),
      }),
    },
  }
}
