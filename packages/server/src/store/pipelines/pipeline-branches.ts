import { FORGES, type SeenBranch } from '@windlass/protocol'
import type { Query } from '../store.ts'

/** Newest builds and deliveries in which branches are looked for. */
const BUILDS = 5_000
const DELIVERIES = 1_000

/** Lists the branches of the newest builds of a pipeline and of the newest deliveries that were judged for it, each once, the latest first. */
export async function listSeenBranches(
  query: Query,
  { accountId, pipelineId }: { readonly accountId: string; readonly pipelineId: string },
): Promise<SeenBranch[]> {
  const builds = await query
    .selectFrom((of) =>
      of
        .selectFrom('build')
        .select(['branch', 'created_at'])
        .where('account_id', '=', accountId)
        .where('pipeline_id', '=', pipelineId)
        .orderBy('number', 'desc')
        .limit(BUILDS)
        .as('newest'),
    )
    .select((of) => ['branch', of.fn.max('created_at').as('at')])
    .where('branch', 'is not', null)
    .groupBy('branch')
    .execute()
  const deliveries = await query
    .selectFrom('delivery_pipeline')
    .innerJoin('delivery', 'delivery.id', 'delivery_pipeline.delivery_id')
    .select(['delivery.branch', 'delivery.received_at as at'])
    .where('delivery_pipeline.pipeline_id', '=', pipelineId)
    .where('delivery.branch', 'is not', null)
    // The branch of a registry is a tag or a version.
    .where('delivery.forge', 'in', [...FORGES])
    .orderBy('delivery.received_at', 'desc')
    .limit(DELIVERIES)
    .execute()
  const latest = new Map<string, number>()
  for (const { branch, at } of [...builds, ...deliveries])
    if (branch !== null) latest.set(branch, Math.max(latest.get(branch) ?? 0, Number(at)))
  return [...latest]
    .map(([branch, seenAt]) => ({ branch, seenAt }))
    .toSorted((one, other) => other.seenAt - one.seenAt || one.branch.localeCompare(other.branch))
}
