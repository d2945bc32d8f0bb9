/** Webhooks of Gitea and Forgejo. Their bodies have the form of GitHub, except that the end of a branch is the event `delete` instead of a push. */
import { splitRepo, text } from '@windlass/forges'
import { isEvent, type Headers, type ReadEvent } from './event.ts'
import { parseGithub } from './github.ts'
import { pushEvent } from './push.ts'
import type { ForgeReader } from './forge-reader.ts'
import { isHmacOf } from './signature.ts'

/** Names of events that Gitea splits further than GitHub. */
const EVENTS: Readonly<Record<string, string>> = {
  pull_request_assign: 'pull_request',
  pull_request_label: 'pull_request',
  pull_request_sync: 'pull_request',
  pull_request_review_request: 'pull_request',
  pull_request_comment: 'issue_comment',
}

export const gitea: ForgeReader = {
  headers: ['x-gitea-event', 'x-gitea-event-type', 'x-gitea-delivery', 'x-forgejo-event', 'x-forgejo-delivery'],
  verify: ({ headers, body, secret }) => isHmacOf(headers['x-forgejo-signature'] ?? headers['x-gitea-signature'], body, secret),
  deliveryId: (headers) => headers['x-forgejo-delivery'] ?? headers['x-gitea-delivery'],
  eventName: (headers) => headers['x-forgejo-event'] ?? headers['x-gitea-event'],
  headersFor: (event) => ({ 'x-gitea-event': event }),
  parse(headers, body) {
    const name = headers['x-forgejo-event'] ?? headers['x-gitea-event'] ?? ''
    if (name === 'delete') return [readDelete(headers, body)]
    return [parseGithub(Object.hasOwn(EVENTS, name) ? EVENTS[name] : name, body)]
  },
}

/** Reads the end of a branch. The body does not name its last commit, so two ends of branches with one name differ by their deliveries. */
function readDelete(headers: Headers, body: unknown): ReadEvent {
  const of = splitRepo(text(body, 'repository', 'full_name'))
  const name = text(body, 'ref')
  if (of === undefined || name === undefined)
    return { reason: 'payload-invalid', message: 'The body names no repository or no branch.' }
  const end = pushEvent({
    repo: of.repo,
    name,
    isTag: text(body, 'ref_type') !== 'branch',
    before: undefined,
    after: undefined,
    sender: text(body, 'sender', 'login'),
    files: 'unknown',
    git: { repoOwner: of.repoOwner, repoName: of.repoName },
  })
  return isEvent(end) ? { ...end, files: 'unknown', occurrence: gitea.deliveryId(headers, body) ?? '' } : end
}
