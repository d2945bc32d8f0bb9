/** Service hooks of Azure DevOps. They sign nothing: the call carries the secret in a header that is entered with the address. */
import { at, flag, joined, list, readRef, splitRepo, text } from '@windlass/forges'
import { defined } from '@windlass/kit'
import type { EventName } from '@windlass/protocol'
import { unsupported, type EventRepo, type ForgeEvent, type ReadEvent } from './event.ts'
import type { ForgeReader } from './forge-reader.ts'
import { pushEvent } from './push.ts'
import { isSame } from './signature.ts'

const MAX_UPDATES = 100

/** Header of the secret. The server reads `Authorization` as one of its own credentials, so basic authentication cannot be used. */
const AZURE_TOKEN_HEADER = 'x-windlass-token'

export const azure: ForgeReader = {
  headers: [],
  verify: ({ headers, secret }) => isSame(headers[AZURE_TOKEN_HEADER], secret),
  deliveryId: (_headers, body) => text(body, 'id'),
  eventName: (_headers, body) => text(body, 'eventType'),
  headersFor: () => ({}),
  parse(_headers, body) {
    const type = text(body, 'eventType')
    const resource = at(body, 'resource')
    const repository = at(resource, 'repository') ?? at(resource, 'pullRequest', 'repository')
    const of = splitRepo(`${text(repository, 'project', 'name') ?? ''}/${text(repository, 'name') ?? ''}`)
    if (type === undefined || of === undefined)
      return [{ reason: 'payload-invalid', message: 'The body names no event or no repository.' }]
    const repo = { repo: of.repo, facts: { repoOwner: of.repoOwner, repoName: of.repoName } }
    if (type === 'git.push')
      return list(resource, 'refUpdates')
        .slice(0, MAX_UPDATES)
        .map((update) => readUpdate(resource, repo, update))
    if (isOldComment(at(resource, 'comment'))) return [unsupported('an edited or deleted comment')]
    const names = namesOf(type, body)
    return [names === undefined ? unsupported(type) : readPullRequest(body, repo, names)]
  },
}

/** Azure DevOps reports changes of a comment like a new one. */
function isOldComment(comment: unknown): boolean {
  const [written, changed] = [text(comment, 'publishedDate'), text(comment, 'lastContentUpdatedDate')]
  return flag(comment, 'isDeleted') === true || (written !== undefined && changed !== undefined && written !== changed)
}

function readUpdate(resource: unknown, { repo, facts }: EventRepo, update: unknown): ReadEvent {
  const ref = readRef(text(update, 'name'))
  if (ref === undefined) return unsupported('push of a ref that is not a branch or tag')
  const after = text(update, 'newObjectId')
  const commit = list(resource, 'commits').find((one) => text(one, 'commitId') === after)
  return pushEvent({
    repo,
    ...ref,
    before: text(update, 'oldObjectId'),
    after,
    sender: userOf(at(resource, 'pushedBy')),
    files: 'unknown',
    git: {
      ...facts,
      ...defined({
        commitMessage: text(commit, 'comment'),
        commitAuthor: text(commit, 'author', 'name'),
        commitUrl: text(commit, 'url'),
      }),
    },
  })
}

function userOf(user: unknown): string | undefined {
  return text(user, 'uniqueName') ?? text(user, 'displayName')
}

/** The body of an update does not say what has changed; only its message does. */
const UPDATES: readonly (readonly [RegExp, readonly EventName[]])[] = [
  [/reviewer list/i, ['pullrequest.reviewersUpdate']],
  [/source branch/i, ['pullrequest.synchronize', 'pullrequest.pushCommit']],
  [/\b(approved|rejected|voted|waiting for the author|feedback)\b/i, ['pullrequest.reviewerVote']],
  [/\b(marked|completed|abandoned|reactivated|published|status)\b/i, ['pullrequest.statusUpdate']],
]

function namesOf(type: string, body: unknown): [EventName, ...EventName[]] | undefined {
  switch (type) {
    case 'git.pullrequest.created':
      return ['pullrequest.created', 'pullrequest.opened', 'pullrequest']
    case 'git.pullrequest.merged':
      // Azure DevOps also reports attempts that fail.
      return text(body, 'resource', 'status') === 'completed'
        ? ['pullrequest.merged', 'pullrequest.closed', 'pullrequest']
        : undefined
    case 'git.pullrequest.updated': {
      const message = text(body, 'message', 'text') ?? ''
      const [first, ...others] = UPDATES.find(([pattern]) => pattern.test(message))?.[1] ?? []
      return first === undefined
        ? ['pullrequest.updated', 'pullrequest']
        : [first, ...others, 'pullrequest.updated', 'pullrequest']
    }
    case 'ms.vss-code.git-pullrequest-comment-event':
      return ['pullrequest.commentAdded', 'pullrequest.commentAddedUnrestricted']
    default:
      return undefined
  }
}

function readPullRequest(body: unknown, { repo, facts }: EventRepo, names: [EventName, ...EventName[]]): ForgeEvent {
  const resource = at(body, 'resource')
  const pull = at(resource, 'pullRequest') ?? resource
  const written = at(resource, 'comment')
  const comment =
    written === undefined
      ? undefined
      : { text: text(written, 'content') ?? '', author: userOf(at(written, 'author')) ?? '', authorMayWrite: undefined }
  const source = readRef(text(pull, 'sourceRefName'))?.name
  const headCommit = text(pull, 'lastMergeSourceCommit', 'commitId')
  const status = text(pull, 'status')
  return {
    names,
    repo,
    ...defined({
      branch: source,
      revision: headCommit,
      base: text(pull, 'lastMergeTargetCommit', 'commitId'),
      sender: userOf(at(pull, 'createdBy')),
      comment,
    }),
    // An event has one id for all service hooks that it calls.
    occurrence: text(body, 'id') ?? '',
    files: 'unknown',
    // The body does not say what the author of a pull request may do.
    pullRequest: { isFork: at(pull, 'forkSource') !== undefined, authorMayWrite: undefined },
    git: {
      ...facts,
      ...defined({ commitAuthor: userOf(at(pull, 'createdBy')), commitUrl: text(pull, 'url') }),
      pullRequest: defined({
        action: names[0].split('.').at(-1),
        id: text(pull, 'pullRequestId'),
        number: text(pull, 'pullRequestId'),
        target: readRef(text(pull, 'targetRefName'))?.name,
        headBranch: source,
        headCommit,
        labels: joined(list(pull, 'labels'), 'name'),
        title: text(pull, 'title'),
        comment: comment?.text,
        commentAuthor: comment?.author,
        merged: status === 'completed' ? true : status === 'abandoned' ? false : undefined,
        mergedCommit: text(pull, 'lastMergeCommit', 'commitId'),
      }),
    },
  }
}
