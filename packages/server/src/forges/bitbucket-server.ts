/** Webhooks of Bitbucket Server and Data Center. */
import { at, list, readRef, splitRepo, text } from '@windlass/forges'
import { defined } from '@windlass/kit'
import type { EventName } from '@windlass/protocol'
import { unsupported, type EventRepo, type ForgeEvent, type ReadEvent } from './event.ts'
import type { ForgeReader } from './forge-reader.ts'
import { pushEvent } from './push.ts'
import { isHmacOf } from './signature.ts'

const MAX_CHANGES = 100

export const bitbucketServer: ForgeReader = {
  headers: ['x-event-key', 'x-request-id'],
  verify: ({ headers, body, secret }) => isHmacOf(headers['x-hub-signature']?.replace(/^sha256=/, ''), body, secret),
  deliveryId: (headers) => headers['x-request-id'],
  eventName: (headers, body) => headers['x-event-key'] ?? text(body, 'eventKey'),
  headersFor: (event) => ({ 'x-event-key': event }),
  parse(headers, body) {
    const key = headers['x-event-key'] ?? text(body, 'eventKey')
    if (key === 'diagnostics:ping') return [unsupported('ping')]
    const repo = readRepo(at(body, 'repository') ?? at(body, 'pullRequest', 'toRef', 'repository'))
    if (repo === undefined) return [{ reason: 'payload-invalid', message: 'The body names no repository.' }]
    if (key === 'repo:refs_changed')
      return list(body, 'changes')
        .slice(0, MAX_CHANGES)
        .map((change) => readChange(body, repo, change))
    const names = key !== undefined && Object.hasOwn(EVENTS, key) ? EVENTS[key] : undefined
    return [names === undefined ? unsupported(key) : readPullRequest(body, repo, names)]
  },
}

function readRepo(repository: unknown): EventRepo | undefined {
  const of = splitRepo(`${text(repository, 'project', 'key') ?? ''}/${text(repository, 'slug') ?? ''}`)
  return of && { repo: of.repo, facts: { repoOwner: of.repoOwner, repoName: of.repoName } }
}

function readChange(body: unknown, { repo, facts }: EventRepo, change: unknown): ReadEvent {
  const ref = readRef(text(change, 'ref', 'id') ?? text(change, 'refId'))
  if (ref === undefined) return unsupported('push of a ref that is not a branch or tag')
  const after = text(change, 'toHash')
  const commit = list(body, 'commits').find((one) => text(one, 'id') === after) ?? at(body, 'toCommit')
  return pushEvent({
    repo,
    ...ref,
    before: text(change, 'fromHash'),
    after,
    sender: text(body, 'actor', 'name'),
    files: 'unknown',
    git: {
      ...facts,
      ...defined({ commitMessage: text(commit, 'message'), commitAuthor: text(commit, 'author', 'name') }),
    },
  })
}

const EVENTS: Readonly<Record<string, readonly [EventName, ...EventName[]]>> = {
  'pr:opened': ['pullrequest:created', 'pullrequest.opened', 'pullrequest'],
  'pr:modified': ['pullrequest:updatedButNoPush', 'pullrequest:updated', 'pullrequest.edited', 'pullrequest'],
  'pr:from_ref_updated': [
    'pullrequest:push_commit',
    'pullrequest:updated',
    'pullrequest.synchronize',
    'pullrequest.pushCommit',
    'pullrequest',
  ],
  'pr:merged': ['pullrequest:merged', 'pullrequest:fulfilled', 'pullrequest.merged', 'pullrequest.closed', 'pullrequest'],
  'pr:declined': [
    'pullrequest:declined',
    'pullrequest:rejected',
    'pullrequest.unmerged-closed',
    'pullrequest.closed',
    'pullrequest',
  ],
  'pr:deleted': ['pullrequest:deleted', 'pullrequest.closed', 'pullrequest'],
  'pr:reviewer:approved': ['pullrequest:approved', 'pullrequest.review.submitted.approved'],
  'pr:reviewer:unapproved': ['pullrequest:unapproved'],
  'pr:reviewer:needs_work': ['pullrequest:needsWork', 'pullrequest.review.submitted.changes_requested'],
  'pr:comment:added': ['pullrequest:comment_created', 'pullrequest.commentAdded', 'pullrequest.commentAddedUnrestricted'],
  'pr:comment:edited': ['pullrequest:comment_updated'],
  'pr:comment:deleted': ['pullrequest:comment_deleted'],
}

function readPullRequest(body: unknown, { repo, facts }: EventRepo, names: readonly [EventName, ...EventName[]]): ForgeEvent {
  const pull = at(body, 'pullRequest')
  const written = at(body, 'comment')
  const [from, to] = [text(pull, 'fromRef', 'repository', 'id'), text(pull, 'toRef', 'repository', 'id')]
  const comment =
    written === undefined
      ? undefined
      : { text: text(written, 'text') ?? '', author: text(written, 'author', 'name') ?? '', authorMayWrite: undefined }
  const state = text(pull, 'state')
  const headCommit = text(pull, 'fromRef', 'latestCommit')
  return {
    names: [...names],
    repo,
    ...defined({
      branch: text(pull, 'fromRef', 'displayId'),
      revision: headCommit,
      sender: text(body, 'actor', 'name'),
      comment,
    }),
    occurrence: text(written, 'id') ?? `${names[0]}/${text(pull, 'updatedDate') ?? ''}/${text(body, 'date') ?? ''}`,
    files: 'unknown',
    // The body does not say what the author of a pull request may do.
    pullRequest: { isFork: from === undefined || from !== to, authorMayWrite: undefined },
    git: {
      ...facts,
      ...defined({
        commitAuthor: text(pull, 'author', 'user', 'name'),
        commitUrl: text(list(pull, 'links', 'self')[0], 'href'),
      }),
      pullRequest: defined({
        action: names[0].split(':').at(-1),
        id: text(pull, 'id'),
        number: text(pull, 'id'),
        target: text(pull, 'toRef', 'displayId'),
        headBranch: text(pull, 'fromRef', 'displayId'),
        headCommit,
        title: text(pull, 'title'),
        comment: comment?.text,
        commentAuthor: comment?.author,
        merged: state === 'MERGED' ? true : state === 'DECLINED' ? false : undefined,
        mergedCommit: text(pull, 'properties', 'mergeCommit', 'id'),
      }),
    },
  }
}
