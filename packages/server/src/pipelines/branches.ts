import type { SeenBranch } from '@windlass/protocol'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { listSeenBranches } from '../store/pipelines/pipeline-branches.ts'

/** Lists branches that builds of a pipeline or events for it had, the latest first. Throws `not-found`. */
export async function listBranches(
  app: App,
  name: string,
  { q = '', limit }: { readonly q?: string | undefined; readonly limit: number },
): Promise<SeenBranch[]> {
  const row = requireFound(await findPipeline(app.store.query, app.accountId, name), `pipeline "${name}"`)
  const branches = await listSeenBranches(app.store.query, { accountId: app.accountId, pipelineId: row.id })
  return branches.filter(({ branch }) => branch.toLowerCase().includes(q.toLowerCase())).slice(0, limit)
}
