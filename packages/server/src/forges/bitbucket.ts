/** Webhooks of Bitbucket Cloud. */
import { at, list, splitRepo, text } from '@windlass/forges'
import { defined } from '@windlass/kit'
import type { EventName } from '@windlass/protocol'
import { unsupported, type EventRepo, type ForgeEvent, type ReadEvent } from './event.ts'
import type { ForgeReader } from './forge-reader.ts'
import { pushEvent } from './push.ts'
import { isHmacOf } from './signature.ts'

/** Maximum number of branches and tags that are read from one push. */
const MAX_CHANGES = 100

export const bitbucket: ForgeReader = {
  headers: ['x-event-key', 'x-request-uuid'],
  verify: ({ headers, body, secret }) => isHmacOf(headers['x-hub-signature']?.replace(/^sha256=/, ''), body, secret),
  deliveryId: (headers) => headers['x-request-uuid'],
  eventName: (headers) => headers['x-event-key'],
  headersFor: (event) => ({ 'x-event-key': event }),
  parse(headers, body) {
    const key = headers['x-event-key']
    const of = splitRepo(text(body, 'repository', 'full_name'))
    if (of === undefined) return [{ reason: 'payload-invalid', message: 'The body names no repository.' }]
    const repo = { repo: of.repo, facts: { repoOwner: of.repoOwner, repoName: of.repoName } }
    if (key === 'repo:push')
      return list(body, 'push', 'changes')
        .slice(0, MAX_CHANGES)
        .map((change) => readChange(body, repo, change))
    const names = key !== undefined && Object.hasOwn(EVENTS, key) ? EVENTS[key] : undefined
    return [names === undefined ? unsupported(key) : readPullRequest(body, repo, names)]
  },
}

function readChange(body: unknown, { repo, facts }: EventRepo, change: unknown): ReadEvent {
  const ref = at(change, 'new') ?? at(change, 'old')
  const name = text(ref, 'name')
  const type = text(ref, 'type')
  if (name === undefined || (type !== 'branch' && type !== 'tag')) return unsupported(`push of a ${type ?? 'ref'}`)
  const target = at(change, 'new', 'target')
  return pushEvent({
    repo,
    name,
    isTag: type === 'tag',
    before: text(change, 'old', 'target', 'hash'),
    after: text(target, 'hash'),
    sender: userOf(at(body, 'actor')),
    files: 'unknown',
    git: {
      ...facts,
      ...defined({
        commitMessage: text(target, 'message'),
        commitAuthor: text(target, 'author', 'user', 'nickname') ?? text(target, 'author', 'raw'),
        commitUrl: text(target, 'links', 'html', 'href'),
      }),
    },
  })
}

/**
 * Returns the id of a user. Users choose and change their nickname and display name freely, so these identify no one. Tokens of repositories and workspaces
 * act as users without an account id (https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/).
 */
function userOf(user: unknown): string | undefined {
  return text(user, 'account_id') ?? text(user, 'uuid')
}

const EVENTS: Readonly<Record<string, readonly [EventName, ...EventName[]]>> = {
  'pullrequest:created': ['pullrequest:created', 'pullrequest.opened', 'pullrequest'],
  'pullrequest:updated': ['pullrequest:updated', 'pullrequest.edited', 'pullrequest'],
  'pullrequest:approved': ['pullrequest:approved', 'pullrequest.review.submitted.approved'],
  'pullrequest:unapproved': ['pullrequest:unapproved'],
  'pullrequest:changes_request_created': ['pullrequest:needsWork', 'pullrequest.review.submitted.changes_requested'],
  'pullrequest:fulfilled': [
    'pullrequest:fulfilled',
    'pullrequest:merged',
    'pullrequest.merged',
    'pullrequest.closed',
    'pullrequest',
  ],
  'pullrequest:rejected': [
    'pullrequest:rejected',
    'pullrequest:declined',
    'pullrequest.unmerged-closed',
    'pullrequest.closed',
    'pullrequest',
  ],
  'pullrequest:comment_created': [
    'pullrequest:comment_created',
    'pullrequest.commentAdded',
    'pullrequest.commentAddedUnrestricted',
  ],
  'pullrequest:comment_updated': ['pullrequest:comment_updated'],
  'pullrequest:comment_deleted': ['pullrequest:comment_deleted'],
}

function readPullRequest(body: unknown, { repo, facts }: EventRepo, names: readonly [EventName, ...EventName[]]): ForgeEvent {
  const pull = at(body, 'pullrequest')
  const written = at(body, 'comment')
  const [from, to] = [text(pull, 'source', 'repository', 'full_name'), text(pull, 'destination', 'repository', 'full_name')]
  const author = userOf(at(written, 'user')) ?? ''
  const comment =
    written === undefined ? undefined : { text: text(written, 'content', 'raw') ?? '', author, authorMayWrite: undefined }
  const state = text(pull, 'state')
  const headCommit = text(pull, 'source', 'commit', 'hash')
  return {
    names: [...names],
    repo,
    ...defined({
      branch: text(pull, 'source', 'branch', 'name'),
      revision: headCommit,
      base: text(pull, 'destination', 'commit', 'hash'),
      sender: userOf(at(body, 'actor')),
      comment,
    }),
    occurrence: text(written, 'id') ?? `${names[0]}/${text(pull, 'updated_on') ?? ''}/${text(body, 'approval', 'date') ?? ''}`,
    files: 'unknown',
    // The body does not say what the author of a pull request may do.
    pullRequest: { isFork: from === undefined || from !== to, authorMayWrite: undefined },
    git: {
      ...facts,
      ...defined({
        commitAuthor: text(pull, 'author', 'nickname') ?? text(pull, 'author', 'display_name'),
        commitUrl: text(pull, 'links', 'html', 'href'),
      }),
      pullRequest: defined({
        action: names[0].split(':').at(-1),
        id: text(pull, 'id'),
        number: text(pull, 'id'),
        target: text(pull, 'destination', 'branch', 'name'),
        headBranch: text(pull, 'source', 'branch', 'name'),
        headCommit,
        title: text(pull, 'title'),
        comment: comment?.text,
        commentAuthor: comment?.author,
        merged: state === 'MERGED' ? true : state === 'DECLINED' || state === 'SUPERSEDED' ? false : undefined,
        mergedCommit: text(pull, 'merge_commit', 'hash'),
      }),
    },
  }
}
