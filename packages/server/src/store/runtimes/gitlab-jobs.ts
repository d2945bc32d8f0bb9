/** Managers of GitLab runners and their jobs, as they report them. */
import { ENDED_GITLAB_STATES, LIVE_GITLAB_STATES, type GitlabJobState } from '@windlass/protocol'
import type { GitlabJobRow, GitlabManagerRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Parameters of one statement. */
const PER_STATEMENT = 100

const LIVE = [...LIVE_GITLAB_STATES]
const ENDED = [...ENDED_GITLAB_STATES]

export async function lockGitlabManager(tx: Tx, accountId: string, id: string): Promise<GitlabManagerRow | undefined> {
  return tx.query
    .selectFrom('gitlab_manager')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

export async function saveGitlabManager(tx: Tx, manager: GitlabManagerRow): Promise<void> {
  const { created_at: _created, ...fields } = manager
  await tx.query
    .insertInto('gitlab_manager')
    .values(manager)
    .onConflict((conflict) => conflict.columns(['account_id', 'id']).doUpdateSet(fields))
    .execute()
}

export interface ManagerPage {
  readonly accountId: string
  /** Id of the last manager of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

/** Lists managers by their ids. */
export async function listGitlabManagers(query: Query, { accountId, after, limit }: ManagerPage): Promise<GitlabManagerRow[]> {
  let select = query.selectFrom('gitlab_manager').selectAll().where('account_id', '=', accountId)
  if (after !== undefined) select = select.where('id', '>', after)
  return select.orderBy('id').limit(limit).execute()
}

export async function countGitlabManagers(query: Query, accountId: string): Promise<number> {
  const row = await query
    .selectFrom('gitlab_manager')
    .select((of) => of.fn.countAll<number | string>().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

export interface JobNumbers {
  readonly accountId: string
  /** Base URL of the GitLab. */
  readonly gitlab: string
  readonly numbers: readonly number[]
}

/** Locks and returns the jobs of a GitLab with these numbers. */
export async function lockGitlabJobs(tx: Tx, { accountId, gitlab, numbers }: JobNumbers): Promise<GitlabJobRow[]> {
  const found: GitlabJobRow[] = []
  for (let at = 0; at < numbers.length; at += PER_STATEMENT)
    found.push(
      ...(await tx.query
        .selectFrom('gitlab_job')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('gitlab', '=', gitlab)
        .where('number', 'in', numbers.slice(at, at + PER_STATEMENT))
        .orderBy('id')
        .$call(tx.forUpdate)
        .execute()),
    )
  return found
}

/** Inserts jobs. One that another report has inserted meanwhile stays as it is. */
export async function insertGitlabJobs(tx: Tx, rows: readonly GitlabJobRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += PER_STATEMENT)
    await tx.query
      .insertInto('gitlab_job')
      .values(rows.slice(at, at + PER_STATEMENT))
      .onConflict((conflict) => conflict.columns(['account_id', 'gitlab', 'number']).doNothing())
      .execute()
}

export async function updateGitlabJob(tx: Tx, id: string, changes: Partial<GitlabJobRow>): Promise<void> {
  await tx.query.updateTable('gitlab_job').set(changes).where('id', '=', id).execute()
}

/** Notes that a report has these jobs, and that nothing else of them has changed. */
export async function touchGitlabJobs(tx: Tx, ids: readonly string[], seenAt: number): Promise<void> {
  for (let at = 0; at < ids.length; at += PER_STATEMENT)
    await tx.query
      .updateTable('gitlab_job')
      .set({ seen_at: seenAt })
      .where('id', 'in', ids.slice(at, at + PER_STATEMENT))
      .execute()
}

export async function countGitlabJobs(query: Query, accountId: string): Promise<number> {
  const row = await query
    .selectFrom('gitlab_job')
    .select((of) => of.fn.countAll<number | string>().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

export interface GitlabJobFilter {
  readonly accountId: string
  readonly state?: GitlabJobState | undefined
  readonly runner?: string | undefined
  readonly project?: string | undefined
  /** A live job that no report has had since this time is `unknown`. */
  readonly silentBefore: number
  /** Id of the last job of the previous page. */
  readonly after?: string | undefined
  readonly limit: number
}

/** Lists jobs, newest first. */
export async function listGitlabJobs(query: Query, filter: GitlabJobFilter): Promise<GitlabJobRow[]> {
  const { state, runner, project, after, silentBefore } = filter
  let select = query.selectFrom('gitlab_job').selectAll().where('account_id', '=', filter.accountId)
  if (state === 'unknown') select = select.where('state', 'in', LIVE).where('seen_at', '<', silentBefore)
  else if (state !== undefined) {
    select = select.where('state', '=', state)
    if (LIVE.some((one) => one === state)) select = select.where('seen_at', '>=', silentBefore)
  }
  if (runner !== undefined) select = select.where('runner', '=', runner)
  if (project !== undefined) select = select.where('project', '=', project)
  if (after !== undefined) select = select.where('id', '<', after)
  return select.orderBy('id', 'desc').limit(filter.limit).execute()
}

export async function findGitlabJob(query: Query, accountId: string, id: string): Promise<GitlabJobRow | undefined> {
  return query.selectFrom('gitlab_job').selectAll().where('account_id', '=', accountId).where('id', '=', id).executeTakeFirst()
}

/** Counts the jobs of each manager that have not ended and that a report had since `silentBefore`. */
export async function countLiveGitlabJobs(query: Query, accountId: string, silentBefore: number): Promise<Map<string, number>> {
  const rows = await query
    .selectFrom('gitlab_job')
    .select(['manager', (of) => of.fn.countAll<number | string>().as('count')])
    .where('account_id', '=', accountId)
    .where('state', 'in', LIVE)
    .where('seen_at', '>=', silentBefore)
    .groupBy('manager')
    .execute()
  return new Map(rows.map(({ manager, count }) => [manager, Number(count)]))
}

/** Deletes the oldest jobs that have ended or are silent. Returns their number, at most `limit`. */
export async function deleteOldestGitlabJobs(
  tx: Tx,
  { accountId, silentBefore, limit }: { readonly accountId: string; readonly silentBefore: number; readonly limit: number },
): Promise<number> {
  const old = await tx.query
    .selectFrom('gitlab_job')
    .select('id')
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('state', 'in', ENDED), where('seen_at', '<', silentBefore)]))
    .orderBy('id')
    .limit(limit)
    .execute()
  await deleteGitlabJobs(
    tx,
    old.map(({ id }) => id),
  )
  return old.length
}

/** Deletes jobs that no report has had since `before`. Returns their number, at most `limit`. */
export async function deleteOldGitlabJobs(
  tx: Tx,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  const old = await tx.query.selectFrom('gitlab_job').select('id').where('seen_at', '<', before).limit(limit).execute()
  await deleteGitlabJobs(
    tx,
    old.map(({ id }) => id),
  )
  return old.length
}

async function deleteGitlabJobs(tx: Tx, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += PER_STATEMENT)
    await tx.query
      .deleteFrom('gitlab_job')
      .where('id', 'in', ids.slice(at, at + PER_STATEMENT))
      .execute()
}

/** Deletes managers that have not reported since `before`. */
export async function deleteOldGitlabManagers(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('gitlab_manager').where('seen_at', '<', before).execute()
}
