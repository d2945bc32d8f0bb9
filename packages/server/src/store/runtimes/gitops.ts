/** GitOps runtimes, their tokens and tunnels. */
import type { GitopsRuntimeRow, GitopsTokenRow, TunnelRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

export async function insertGitopsRuntime(tx: Tx, row: GitopsRuntimeRow): Promise<void> {
  await tx.query.insertInto('gitops_runtime').values(row).execute()
}

export async function findGitopsRuntime(query: Query, accountId: string, name: string): Promise<GitopsRuntimeRow | undefined> {
  return query
    .selectFrom('gitops_runtime')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('name', '=', name)
    .executeTakeFirst()
}

/** Changes what is known of a runtime. */
export async function updateGitopsRuntime(
  tx: Tx,
  id: string,
  changes: Partial<Pick<GitopsRuntimeRow, 'installation' | 'errors'>>,
): Promise<void> {
  await tx.query.updateTable('gitops_runtime').set(changes).where('id', '=', id).execute()
}

/** Locks a runtime, so that its tokens and its tunnel change one after the other. */
export async function lockGitopsRuntime(tx: Tx, accountId: string, name: string): Promise<GitopsRuntimeRow | undefined> {
  return tx.query
    .selectFrom('gitops_runtime')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('name', '=', name)
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

export async function countGitopsRuntimes(query: Query, accountId: string): Promise<number> {
  const row = await query
    .selectFrom('gitops_runtime')
    .select((of) => of.fn.countAll<number | string>().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** Lists runtimes by name. */
export async function listGitopsRuntimes(query: Query, accountId: string): Promise<GitopsRuntimeRow[]> {
  return query.selectFrom('gitops_runtime').selectAll().where('account_id', '=', accountId).orderBy('name').execute()
}

/** Returns the names of runtimes by their ids. */
export async function listGitopsRuntimeNames(query: Query, accountId: string): Promise<Map<string, string>> {
  const rows = await query.selectFrom('gitops_runtime').select(['id', 'name']).where('account_id', '=', accountId).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Deletes a runtime with its tokens, its tunnel, its applications and what else it has reported. */
export async function deleteGitopsRuntime(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('gitops_token').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('tunnel').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('gitops_application').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('gitops_object').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('gitops_reporter').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('gitops_runtime_status').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('gitops_cluster').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('gitops_errand').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('gitops_runtime').where('id', '=', id).execute()
}

export async function insertGitopsToken(tx: Tx, row: GitopsTokenRow): Promise<void> {
  await tx.query.insertInto('gitops_token').values(row).execute()
}

export async function listGitopsTokens(query: Query, runtimeId: string): Promise<GitopsTokenRow[]> {
  return query.selectFrom('gitops_token').selectAll().where('runtime_id', '=', runtimeId).orderBy('id').execute()
}

/** A token with the name of its runtime. */
export type NamedToken = GitopsTokenRow & { readonly runtime: string }

export async function findGitopsToken(query: Query, id: string): Promise<NamedToken | undefined> {
  return query
    .selectFrom('gitops_token')
    .innerJoin('gitops_runtime', 'gitops_runtime.id', 'gitops_token.runtime_id')
    .selectAll('gitops_token')
    .select('gitops_runtime.name as runtime')
    .where('gitops_token.id', '=', id)
    .executeTakeFirst()
}

/** Deletes a token. Returns false if the runtime does not have it. */
export async function deleteGitopsToken(tx: Tx, runtimeId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx.query
    .deleteFrom('gitops_token')
    .where('id', '=', id)
    .where('runtime_id', '=', runtimeId)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** A runtime with its last connection, if there was one. */
export type RuntimeTunnel = GitopsRuntimeRow & { readonly tunnel: TunnelRow | undefined }

/** Lists runtimes by name, or finds one. */
export async function listTunnels(query: Query, accountId: string, name?: string): Promise<RuntimeTunnel[]> {
  let select = query.selectFrom('gitops_runtime').selectAll().where('account_id', '=', accountId)
  if (name !== undefined) select = select.where('name', '=', name)
  const runtimes = await select.orderBy('name').execute()
  const tunnels = await query.selectFrom('tunnel').selectAll().where('account_id', '=', accountId).execute()
  const byRuntime = new Map(tunnels.map((row) => [row.runtime_id, row]))
  return runtimes.map((row) => ({ ...row, tunnel: byRuntime.get(row.id) }))
}

export async function findTunnel(query: Query, runtimeId: string): Promise<TunnelRow | undefined> {
  return query.selectFrom('tunnel').selectAll().where('runtime_id', '=', runtimeId).executeTakeFirst()
}

export async function saveTunnel(tx: Tx, row: TunnelRow): Promise<void> {
  const { runtime_id: _id, ...fields } = row
  await tx.query
    .insertInto('tunnel')
    .values(row)
    .onConflict((conflict) => conflict.column('runtime_id').doUpdateSet(fields))
    .execute()
}

export interface HeldTunnel {
  readonly runtimeId: string
  /** Id of the connection. */
  readonly session: string
  /** Only in this state. Default: any. */
  readonly state?: TunnelRow['state']
}

/** Changes the tunnel of a runtime while its connection is `session`. Returns false if it is not. */
export async function updateTunnel(
  tx: Tx,
  { runtimeId, session, state }: HeldTunnel,
  changes: Pick<TunnelRow, 'state' | 'seen_at'>,
): Promise<boolean> {
  let update = tx.query.updateTable('tunnel').set(changes).where('runtime_id', '=', runtimeId).where('session', '=', session)
  if (state !== undefined) update = update.where('state', '=', state)
  const { numUpdatedRows } = await update.executeTakeFirst()
  return numUpdatedRows > 0n
}
