/** Environments, products, and what promotions follow. */
import type { DefinitionKind } from '@windlass/protocol'
import type { DefinitionRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

export interface DefinitionName {
  readonly accountId: string
  readonly kind: DefinitionKind
  readonly name: string
}

/** Lists the definitions of a kind by name. Their number is limited. */
export async function listDefinitions(query: Query, accountId: string, kind: DefinitionKind): Promise<DefinitionRow[]> {
  return query
    .selectFrom('gitops_definition')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('kind', '=', kind)
    .orderBy('name')
    .execute()
}

export async function findDefinition(
  query: Query,
  { accountId, kind, name }: DefinitionName,
): Promise<DefinitionRow | undefined> {
  return query
    .selectFrom('gitops_definition')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst()
}

/** Stores a definition, instead of an earlier one of this name, whose id, author and time of creation stay. */
export async function saveDefinition(tx: Tx, row: DefinitionRow): Promise<void> {
  const { spec, changed_by, changed_at } = row
  await tx.query
    .insertInto('gitops_definition')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'kind', 'name']).doUpdateSet({ spec, changed_by, changed_at }))
    .execute()
}

/** Returns false if it does not exist. */
export async function deleteDefinition(tx: Tx, { accountId, kind, name }: DefinitionName): Promise<boolean> {
  const { numDeletedRows } = await tx.query
    .deleteFrom('gitops_definition')
    .where('account_id', '=', accountId)
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst()
  return numDeletedRows > 0n
}
