/** Names of the projects and pipelines in which an actor has roles. */
import type { Query } from '../store.ts'

export interface PlaceName {
  readonly id: string
  readonly name: string
}

/** Maps by id, of which only the keys count. */
interface Held {
  readonly projects?: ReadonlyMap<string, unknown> | undefined
  readonly pipelines?: ReadonlyMap<string, unknown> | undefined
}

/** Returns the names of these projects and pipelines, in the order of names. What was deleted is left out. */
export async function listPlaceNames(
  query: Query,
  accountId: string,
  { projects, pipelines }: Held,
): Promise<{ readonly projects: readonly PlaceName[]; readonly pipelines: readonly PlaceName[] }> {
  const read = async (table: 'project' | 'pipeline', ids: readonly string[]): Promise<PlaceName[]> =>
    ids.length === 0
      ? []
      : query
          .selectFrom(table)
          .select(['id', 'name'])
          .where('account_id', '=', accountId)
          .where('id', 'in', ids)
          .orderBy('name')
          .execute()
  return {
    projects: await read('project', [...(projects?.keys() ?? [])]),
    pipelines: await read('pipeline', [...(pipelines?.keys() ?? [])]),
  }
}
