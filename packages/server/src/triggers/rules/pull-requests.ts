/**
 * The last known commit of each pull request. A comment does not always name the commit and the repository of its pull request. An earlier event of the same
 * webhook does, so a comment builds a commit that cannot change until the build clones it.
 */
import { isCommit } from '@windlass/forges'
import { defined } from '@windlass/kit'
import type { App } from '../../app.ts'
import type { ForgeEvent } from '../../forges/event.ts'
import type { DeliveryRow, PullRequestRow } from '../../store/schema/schema.ts'
import type { Query } from '../../store/store.ts'
import { findPullRequest, savePullRequest, type PullRequestFilter } from '../../store/triggers/pull-requests.ts'

type Call = Pick<DeliveryRow, 'account_id' | 'webhook_id' | 'received_at' | 'replay_of'>

/** Stores the commits of pull requests that the events name. A replay does not, because its events are old. */
export async function notePullRequests({ store }: App, call: Call, events: readonly ForgeEvent[]): Promise<void> {
  if (call.replay_of !== null) return
  const rows = events.flatMap((event) => toRow(call, event) ?? [])
  if (rows.length === 0) return
  await store.write(async (tx) => {
    for (const row of rows) await savePullRequest(tx, row)
  })
}

function toRow(call: Call, { repo, branch, revision, pullRequest, comment, git }: ForgeEvent): PullRequestRow | undefined {
  const number = git.pullRequest?.number
  if (number === undefined || pullRequest?.isFork === undefined || comment !== undefined || !isCommit(revision)) return undefined
  return {
    webhook_id: call.webhook_id,
    repo: repo.toLowerCase(),
    number,
    account_id: call.account_id,
    branch: branch ?? null,
    target: git.pullRequest?.target ?? null,
    revision,
    is_fork: pullRequest.isFork ? 1 : 0,
    updated_at: call.received_at,
  }
}

/** Adds to the event of a comment what an earlier event of its pull request named. Returns other events as they are. */
export async function withPullRequest(query: Query, from: EventSource, event: ForgeEvent): Promise<ForgeEvent> {
  const filter = filterOf(from, event)
  const known = filter === undefined ? undefined : await findPullRequest(query, filter)
  if (known === undefined) return event
  const { pullRequest, git } = event
  const branch = event.branch ?? known.branch ?? undefined
  const revision = isCommit(event.revision) ? event.revision : known.revision
  return {
    ...event,
    ...defined({ branch }),
    revision,
    pullRequest: { authorMayWrite: pullRequest?.authorMayWrite, isFork: pullRequest?.isFork ?? known.is_fork === 1 },
    git: {
      ...git,
      pullRequest: {
        ...git.pullRequest,
        ...defined({ headBranch: branch, target: git.pullRequest?.target ?? known.target ?? undefined }),
        headCommit: revision,
      },
    },
  }
}

export interface EventSource {
  readonly accountId: string
  /** Undefined for an event that is only tested: any webhook of the account may have reported the pull request. */
  readonly webhookId?: string
}

function filterOf(from: EventSource, { repo, revision, pullRequest, comment, git }: ForgeEvent): PullRequestFilter | undefined {
  const number = git.pullRequest?.number
  if (comment === undefined || pullRequest === undefined || number === undefined) return undefined
  if (pullRequest.isFork !== undefined && isCommit(revision)) return undefined
  return { ...from, repo: repo.toLowerCase(), number }
}
