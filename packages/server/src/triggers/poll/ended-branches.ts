/** Branches that end without a call: polling reports them once two lists, a period apart, lack them. */
import type { App } from '../../app.ts'
import type { BranchHeadRow, PolledRepoRow, WebhookRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { deleteBranchHead, saveBranchHead } from '../../store/triggers/branch-heads.ts'
import { hasDeliveryOfBranch, hasDeliveryOfHead } from '../../store/triggers/deliveries.ts'
import { insertPolled } from './insert-polled.ts'
import { toEndBody } from './push-body.ts'

/** How long the head of a branch is kept after its end was reported, for calls that come late. Milliseconds. */
const LATE_MS = 86_400_000
/** Maximum number of ends of a repository that one poll reports. The next poll reports the others. */
const MAX_ENDS = 100

interface Missing {
  readonly app: App
  readonly row: PolledRepoRow
  readonly webhook: WebhookRow
  /** Stored heads of branches that the list lacks. */
  readonly heads: readonly BranchHeadRow[]
  /** When the list was requested. */
  readonly startedAt: number
}

/**
 * Notes branches that a list lacks, and stores a delivery for each one that an earlier list lacked, too. One list can lack a branch that exists, for example if
 * another branch ends between two pages. A call about the branch since the earlier list shows that it may exist again, so this list counts as the first one.
 */
export async function noteMissing(tx: Tx, { app, row, webhook, heads, startedAt }: Missing): Promise<void> {
  let ends = 0
  for (const head of heads) {
    if (head.ended_at !== null) {
      if (head.ended_at < startedAt - LATE_MS) await deleteBranchHead(tx, head)
      continue
    }
    if (await isEndReported(tx, row, head)) await deleteBranchHead(tx, head)
    else if (head.missing_since === null || (await isCalledSince(tx, row, head, head.missing_since)))
      await saveBranchHead(tx, { ...head, missing_since: startedAt })
    // After a poll that was not complete the next one follows at once.
    else if (head.missing_since < startedAt - app.timings.pollMs / 2 && ends < MAX_ENDS) {
      ends += 1
      await insertPolled(tx, app, { webhook, row, branch: head.branch, revision: null, body: toEndBody(row.name, head) })
      await saveBranchHead(tx, { ...head, polled_base: null, ended_at: startedAt })
    }
  }
}

/** Returns true if a call reported the end of the branch since the last list. The delivery of such a call has no commit. */
async function isEndReported(
  tx: Tx,
  { account_id: accountId, repo, polled_at: since }: PolledRepoRow,
  { branch }: BranchHeadRow,
) {
  return hasDeliveryOfHead(tx.query, { accountId, repo, branch, revision: null, since: since ?? 0 })
}

function isCalledSince(tx: Tx, { account_id: accountId, repo }: PolledRepoRow, { branch }: BranchHeadRow, since: number) {
  return hasDeliveryOfBranch(tx.query, { accountId, repo, branch, since })
}
