/** An event that a person fills in, as the body of a webhook call in the form of GitHub. Pure. */
import type { TriggerTestInput } from '@windlass/protocol'

export const TYPED_KINDS = ['push', 'tag', 'opened', 'merged', 'comment'] as const
export type TypedKind = (typeof TYPED_KINDS)[number]

export const KIND_WORDS: Readonly<Record<TypedKind, string>> = {
  push: 'Push to a branch',
  tag: 'Push of a tag',
  opened: 'Pull request opened',
  merged: 'Pull request merged',
  comment: 'Comment on a pull request',
}

export interface TypedEvent {
  readonly kind: TypedKind
  /** `owner/name`. */
  readonly repo: string
  /** Branch, tag, or source of the pull request. */
  readonly branch: string
  /** Target of the pull request. */
  readonly target: string
  /** Message of the commit, or text of the comment. */
  readonly text: string
  /** Changed files, one on each line. */
  readonly files: string
}

const COMMIT = 'c'.repeat(40)
const BEFORE = 'b'.repeat(40)

/** Returns the input of a test of triggers. */
export function toTestInput(event: TypedEvent, pipeline: string): TriggerTestInput {
  const [name, body] = bodyOf(event)
  return { forge: 'github', event: name, body: JSON.stringify(body), pipeline }
}

function bodyOf(event: TypedEvent): readonly [string, object] {
  const { kind, repo, branch, text, files } = event
  const [owner = '', ...rest] = repo.split('/')
  const repository = { id: 1, name: rest.join('/'), full_name: repo, owner: { login: owner } }
  const common = { repository, sender: { login: 'you' } }
  if (kind === 'push' || kind === 'tag') {
    const modified = files.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
    const commit = { id: COMMIT, message: text, author: { name: 'You', username: 'you' } }
    const ref = `refs/${kind === 'tag' ? 'tags' : 'heads'}/${branch}`
    const commits = [{ ...commit, added: [], removed: [], modified }]
    return [
      'push',
      { ...common, ref, before: BEFORE, after: COMMIT, forced: false, head_commit: commit, commits, pusher: { name: 'you' } },
    ]
  }
  const user = { login: 'you' }
  if (kind === 'comment') {
    const issue = { id: 1, number: 1, title: 'Test', user, pull_request: { url: 'https://example.com/pulls/1' } }
    const comment = { id: 1, body: text, user, author_association: 'OWNER' }
    return ['issue_comment', { ...common, action: 'created', issue, comment }]
  }
  return ['pull_request', { ...common, action: kind === 'opened' ? 'opened' : 'closed', pull_request: pullOf(event) }]
}

function pullOf({ kind, branch, target, text }: TypedEvent): object {
  const isMerged = kind === 'merged'
  return {
    id: 1,
    number: 1,
    state: isMerged ? 'closed' : 'open',
    title: text,
    html_url: 'https://example.com/pull/1',
    user: { login: 'you' },
    author_association: 'OWNER',
    labels: [],
    head: { ref: branch, sha: COMMIT, repo: { id: 1 } },
    base: { ref: target, sha: BEFORE, repo: { id: 1 } },
    merged: isMerged,
    merge_commit_sha: isMerged ? BEFORE : null,
  }
}
