/** Where the applications of an account belong. */
import { listPlaced, type PlacedApplication } from '../../store/runtimes/applications.ts'
import { listGitopsRuntimeNames } from '../../store/runtimes/gitops.ts'
import type { Query } from '../../store/store.ts'
import type { Placed } from './membership.ts'

export type PlacedRow = Placed &
  Pick<PlacedApplication, 'id' | 'runtime_id' | 'health' | 'health_rank' | 'sync' | 'promoted_version'>

/** Reads where all applications belong. */
export async function listPlacedApplications(query: Query, accountId: string): Promise<PlacedRow[]> {
  const names = await listGitopsRuntimeNames(query, accountId)
  return (await listPlaced(query, accountId)).map(({ cluster_namespace: clusterNamespace, ...row }) => ({
    ...row,
    clusterNamespace,
    runtime: names.get(row.runtime_id) ?? '',
  }))
}
