/** Webhooks of Gitea and Forgejo. Their bodies have the form of GitHub. */
import { parseGithub } from './github.ts'
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
    return [parseGithub(Object.hasOwn(EVENTS, name) ? EVENTS[name] : name, body)]
  },
}
