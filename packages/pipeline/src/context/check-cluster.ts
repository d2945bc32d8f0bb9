/** Checks the cluster of deploy steps against those of the account: codes 300 to 303. */
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { child } from '../syntax/tree.ts'
import type { ContextPlace } from '../language/step-type.ts'
import type { Kind } from './integrations.ts'
import { checkNamed, REGISTRY, reportMissing, warnOfDefault } from './integrations.ts'

const CLUSTER: Kind = {
  field: 'cluster',
  noun: 'cluster',
  variable: 'cluster-variable',
  unknown: 'cluster-unknown',
  listed: ({ clusters }) => clusters,
}

/** Checks the cluster, and the registry that it pulls from. */
export function checkCluster(entries: Entries, place: ContextPlace): void {
  const { clusters } = place.account
  const written = read.node(entries, 'cluster')
  checkNamed(child(read.map(entries, 'candidate'), 'registry'), { ...REGISTRY, field: 'candidate.registry' }, place)
  if (clusters === undefined) return checkNamed(written, CLUSTER, place)
  if (clusters.length === 0) {
    return reportMissing(place, 'cluster-missing', place.range, 'the account has no cluster to deploy to', {
      path: `${place.path}.cluster`,
      hint: 'Connect a cluster to the account.',
    })
  }
  if (written !== undefined) return checkNamed(written, CLUSTER, place)
  if (clusters.length > 1) warnOfDefault('cluster-implied', { field: 'cluster', noun: 'clusters', of: clusters }, place)
}
