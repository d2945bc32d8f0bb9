import type { StepTypeRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Lists all versions of a step type, unordered. */
export async function listStepTypeVersions(query: Query, accountId: string, name: string): Promise<StepTypeRow[]> {
  return query.selectFrom('step_type').selectAll().where('account_id', '=', accountId).where('name', '=', name).execute()
}

export async function findStepType(
  query: Query,
  accountId: string,
  { name, version }: { name: string; version: string },
): Promise<StepTypeRow | undefined> {
  return query
    .selectFrom('step_type')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('name', '=', name)
    .where('version', '=', version)
    .executeTakeFirst()
}

export type StepTypeHead = Omit<StepTypeRow, 'manifest'>

/** Lists every version of every step type by name, without manifests. */
export async function listStepTypeHeads(query: Query, accountId: string): Promise<StepTypeHead[]> {
  return query
    .selectFrom('step_type')
    .select(['id', 'account_id', 'name', 'version', 'description', 'created_at', 'updated_at'])
    .where('account_id', '=', accountId)
    .orderBy('name')
    .execute()
}

/** Inserts or replaces a step type version by id. */
export async function saveStepType(tx: Tx, row: StepTypeRow): Promise<void> {
  await tx.query
    .insertInto('step_type')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}

export async function deleteStepType(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('step_type').where('id', '=', id).execute()
}
