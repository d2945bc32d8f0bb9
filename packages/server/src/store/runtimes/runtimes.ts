import type { BaseLayerRow, RuntimeRow, RuntimeVersionRow } from '../schema/schema.ts'
import { preparedOne } from '../database/prepared.ts'
import type { LimitReader, Query, Tx } from '../store.ts'

/** Finds a runtime by id or name. */
export async function findRuntime(query: Query, accountId: string, name: string): Promise<RuntimeRow | undefined> {
  return query
    .selectFrom('runtime')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((expression) => expression.or([expression('id', '=', name), expression('name', '=', name)]))
    .executeTakeFirst()
}

const findDefault = preparedOne((query: Query, accountId: string) =>
  query.selectFrom('runtime').selectAll().where('account_id', '=', accountId).where('is_default', '=', 1).orderBy('name'),
)

export async function findDefaultRuntime(query: Query, accountId: string): Promise<RuntimeRow | undefined> {
  return findDefault(query, accountId)
}

export async function listRuntimes(query: Query, accountId: string): Promise<RuntimeRow[]> {
  return query.selectFrom('runtime').selectAll().where('account_id', '=', accountId).orderBy('name').execute()
}

/** Inserts or replaces a runtime by id. If it is the default, the others stop being the default. */
export async function saveRuntime(tx: Tx, runtime: RuntimeRow): Promise<void> {
  if (runtime.is_default === 1) {
    await tx.query
      .updateTable('runtime')
      .set({ is_default: 0 })
      .where('account_id', '=', runtime.account_id)
      .where('is_default', '=', 1)
      .execute()
  }
  await tx.query
    .insertInto('runtime')
    .values(runtime)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(runtime))
    .execute()
}

/** Deletes a runtime with its versions and its checks of contexts. */
export async function deleteRuntime(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('context_check').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('runtime_version').where('runtime_id', '=', id).execute()
  await tx.query.deleteFrom('runtime').where('id', '=', id).execute()
}

/** Locks all runtimes of the account in the order of their ids, for decisions about their capacity. */
export async function lockRuntimes(tx: LimitReader, accountId: string): Promise<RuntimeRow[]> {
  return tx.query
    .selectFrom('runtime')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('id')
    .$call(tx.forUpdate)
    .execute()
}

export async function updateRuntime(tx: Tx, id: string, changes: Partial<RuntimeRow>): Promise<void> {
  await tx.query.updateTable('runtime').set(changes).where('id', '=', id).execute()
}

/** Maximum stored versions per runtime. */
const VERSIONS_KEPT = 500

/** Adds a version and deletes very old ones. */
export async function insertRuntimeVersion(tx: Tx, row: RuntimeVersionRow): Promise<void> {
  await tx.query.insertInto('runtime_version').values(row).execute()
  await tx.query
    .deleteFrom('runtime_version')
    .where('runtime_id', '=', row.runtime_id)
    .where('version', '<=', row.version - VERSIONS_KEPT)
    .execute()
}

/** Lists versions, newest first. */
export async function listRuntimeVersions(query: Query, runtimeId: string): Promise<RuntimeVersionRow[]> {
  return query.selectFrom('runtime_version').selectAll().where('runtime_id', '=', runtimeId).orderBy('version', 'desc').execute()
}

export async function findRuntimeVersion(
  query: Query,
  runtimeId: string,
  version: number,
): Promise<RuntimeVersionRow | undefined> {
  return query
    .selectFrom('runtime_version')
    .selectAll()
    .where('runtime_id', '=', runtimeId)
    .where('version', '=', version)
    .executeTakeFirst()
}

/** Lists the layers that replace built-in ones. */
export async function listBaseLayers(query: Query, accountId: string): Promise<BaseLayerRow[]> {
  return query.selectFrom('base_layer').selectAll().where('account_id', '=', accountId).orderBy('name').execute()
}

export async function saveBaseLayer(tx: Tx, row: BaseLayerRow): Promise<void> {
  await tx.query
    .insertInto('base_layer')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doUpdateSet(row))
    .execute()
}

export async function deleteBaseLayer(tx: Tx, accountId: string, name: string): Promise<void> {
  await tx.query.deleteFrom('base_layer').where('account_id', '=', accountId).where('name', '=', name).execute()
}
