import type { BranchHeadRow, PolledRepoRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

export type RepoOfWebhook = Pick<PolledRepoRow, 'webhook_id' | 'repo'>

/** Lists all repositories that are polled. */
export async function listPolledRepos(query: Query, accountId: string): Promise<PolledRepoRow[]> {
  return query.selectFrom('polled_repo').selectAll().where('account_id', '=', accountId).execute()
}

/** Lists the repositories of a webhook by name. */
export async function listPolledReposOf(query: Query, webhookId: string): Promise<PolledRepoRow[]> {
  return query.selectFrom('polled_repo').selectAll().where('webhook_id', '=', webhookId).orderBy('repo').execute()
}

/** Inserts a repository unless it is already polled. */
export async function insertPolledRepo(tx: Tx, row: PolledRepoRow): Promise<void> {
  await tx.query
    .insertInto('polled_repo')
    .values(row)
    .onConflict((conflict) => conflict.columns(['webhook_id', 'repo']).doNothing())
    .execute()
}

/** Deletes a repository with its heads. */
export async function deletePolledRepo(tx: Tx, { webhook_id: webhook, repo }: RepoOfWebhook): Promise<void> {
  for (const table of ['branch_head', 'polled_repo'] as const)
    await tx.query.deleteFrom(table).where('webhook_id', '=', webhook).where('repo', '=', repo).execute()
}

export async function deletePolledReposOf(tx: Tx, webhookId: string): Promise<void> {
  for (const table of ['branch_head', 'polled_repo'] as const)
    await tx.query.deleteFrom(table).where('webhook_id', '=', webhookId).execute()
}

export async function listDuePolls(
  query: Query,
  { accountId, now }: { accountId: string; now: number },
): Promise<PolledRepoRow[]> {
  return query
    .selectFrom('polled_repo')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('next_at', '<=', now)
    .orderBy('next_at')
    .execute()
}

/** Moves a due repository to its next poll. Returns false if another server did so. */
export async function takePoll(
  tx: Tx,
  { webhook_id: webhook, repo, next_at: due }: PolledRepoRow,
  next: number,
): Promise<boolean> {
  const { numUpdatedRows: count } = await tx.query
    .updateTable('polled_repo')
    .set({ next_at: next })
    .where('webhook_id', '=', webhook)
    .where('repo', '=', repo)
    .where('next_at', '=', due)
    .executeTakeFirstOrThrow()
  return count > 0n
}

export async function updatePolledRepo(
  tx: Tx,
  { webhook_id: webhook, repo }: RepoOfWebhook,
  changes: Partial<Pick<PolledRepoRow, 'polled_at' | 'problem' | 'next_at'>>,
): Promise<void> {
  await tx.query.updateTable('polled_repo').set(changes).where('webhook_id', '=', webhook).where('repo', '=', repo).execute()
}

/** Locks a repository of all webhooks, so that a call and a poll that report the same push see each other. Returns false if it is not polled. */
export async function lockPolledRepo(
  tx: Tx,
  { account_id: account, repo }: Pick<PolledRepoRow, 'account_id' | 'repo'>,
): Promise<boolean> {
  const rows = await tx.query
    .selectFrom('polled_repo')
    .select('webhook_id')
    .where('account_id', '=', account)
    .where('repo', '=', repo)
    .orderBy('webhook_id')
    .$call(tx.forUpdate)
    .execute()
  return rows.length > 0
}

export async function listBranchHeads(query: Query, { webhook_id: webhook, repo }: RepoOfWebhook): Promise<BranchHeadRow[]> {
  return query.selectFrom('branch_head').selectAll().where('webhook_id', '=', webhook).where('repo', '=', repo).execute()
}

/** Lists the heads of a repository that polling has reported and that are not left yet, and those whose end it has reported. */
export async function listPolledHeads(
  query: Query,
  { account_id: account, repo }: Pick<PolledRepoRow, 'account_id' | 'repo'>,
): Promise<BranchHeadRow[]> {
  return query
    .selectFrom('branch_head')
    .selectAll()
    .where('account_id', '=', account)
    .where('repo', '=', repo)
    .where((where) => where.or([where('polled_base', 'is not', null), where('ended_at', 'is not', null)]))
    .execute()
}

export async function saveBranchHead(tx: Tx, head: BranchHeadRow): Promise<void> {
  await tx.query
    .insertInto('branch_head')
    .values(head)
    .onConflict((conflict) => conflict.columns(['webhook_id', 'repo', 'branch']).doUpdateSet(head))
    .execute()
}

export async function deleteBranchHead(tx: Tx, { webhook_id: webhook, repo, branch }: BranchHeadRow): Promise<void> {
  await tx.query
    .deleteFrom('branch_head')
    .where('webhook_id', '=', webhook)
    .where('repo', '=', repo)
    .where('branch', '=', branch)
    .execute()
}
