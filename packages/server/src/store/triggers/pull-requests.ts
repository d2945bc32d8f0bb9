import type { PullRequestRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

export interface PullRequestFilter {
  readonly accountId: string
  readonly webhookId?: string
  /** In lower case. */
  readonly repo: string
  readonly number: string
}

/** Inserts or replaces what is known of a pull request, unless a later event is already stored. */
export async function savePullRequest(tx: Tx, row: PullRequestRow): Promise<void> {
  await tx.query
    .insertInto('pull_request')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['webhook_id', 'repo', 'number']).doUpdateSet(row).where('pull_request.updated_at', '<=', row.updated_at),
    )
    .execute()
}

/** Returns what the last event of a pull request said. Without a webhook, of those of all webhooks. */
export async function findPullRequest(query: Query, filter: PullRequestFilter): Promise<PullRequestRow | undefined> {
  let select = query
    .selectFrom('pull_request')
    .selectAll()
    .where('account_id', '=', filter.accountId)
    .where('repo', '=', filter.repo)
    .where('number', '=', filter.number)
  if (filter.webhookId !== undefined) select = select.where('webhook_id', '=', filter.webhookId)
  return select.orderBy('updated_at', 'desc').limit(1).executeTakeFirst()
}

/** Deletes pull requests without an event since `before`. */
export async function deleteOldPullRequests(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('pull_request').where('updated_at', '<', before).execute()
}
