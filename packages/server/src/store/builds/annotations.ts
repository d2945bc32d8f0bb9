import type { AnnotationRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** The entity that annotations belong to. */
export type Annotated = Pick<AnnotationRow, 'account_id' | 'entity' | 'entity_id' | 'kind'>

/** Lists the annotations of an entity by name. */
export async function listAnnotations(query: Query, on: Annotated): Promise<AnnotationRow[]> {
  return query
    .selectFrom('annotation')
    .selectAll()
    .where('account_id', '=', on.account_id)
    .where('entity', '=', on.entity)
    .where('entity_id', '=', on.entity_id)
    .where('kind', '=', on.kind)
    .orderBy('name')
    .execute()
}

/** Lists the annotations of these builds that are shown in lists. */
export async function listDisplayed(query: Query, buildIds: readonly string[]): Promise<AnnotationRow[]> {
  if (buildIds.length === 0) return []
  return query
    .selectFrom('annotation')
    .selectAll()
    .where('entity', '=', 'build')
    .where('entity_id', 'in', [...buildIds])
    .where('display', '=', 1)
    .execute()
}

/** Sets one annotation and replaces an existing one with the same name. */
export async function saveAnnotation(tx: Tx, row: AnnotationRow): Promise<void> {
  await tx.query
    .insertInto('annotation')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'entity', 'entity_id', 'kind', 'name'])
        .doUpdateSet({ value: row.value, updated_at: row.updated_at }),
    )
    .execute()
}

/** Makes this annotation the one that is shown in lists. */
export async function setDisplayed(tx: Tx, on: Annotated, name: string): Promise<void> {
  for (const display of [0, 1] as const) {
    let update = tx.query
      .updateTable('annotation')
      .set({ display })
      .where('account_id', '=', on.account_id)
      .where('entity', '=', on.entity)
      .where('entity_id', '=', on.entity_id)
      .where('kind', '=', on.kind)
    if (display === 1) update = update.where('name', '=', name)
    await update.execute()
  }
}

export async function deleteAnnotations(tx: Tx, on: Annotated, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  await tx.query
    .deleteFrom('annotation')
    .where('account_id', '=', on.account_id)
    .where('entity', '=', on.entity)
    .where('entity_id', '=', on.entity_id)
    .where('kind', '=', on.kind)
    .where('name', 'in', [...names])
    .execute()
}

/** Returns the ids of builds that have not ended and have an annotation with this name and one of these values. */
export async function listLiveAnnotated(
  query: Query,
  filter: { accountId: string; name: string; values: readonly string[] },
): Promise<string[]> {
  const rows = await query
    .selectFrom('annotation')
    .innerJoin('build', 'build.id', 'annotation.entity_id')
    .select('build.id')
    .where('annotation.account_id', '=', filter.accountId)
    .where('annotation.entity', '=', 'build')
    .where('annotation.kind', '=', 'annotation')
    .where('annotation.name', '=', filter.name)
    .where('annotation.value', 'in', [...filter.values])
    .where('build.status', 'not in', ['success', 'error', 'terminated'])
    .orderBy('build.id')
    .execute()
  return rows.map(({ id }) => id)
}
