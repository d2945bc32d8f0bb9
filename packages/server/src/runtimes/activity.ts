/** What happens on a runtime now, and its load in the last 24 hours. */
import { objectNames, type RuntimeActivity } from '@windlass/protocol'
import type { App } from '../app.ts'
import { readHolders, toRef } from '../builds/list/limit-use.ts'
import { present } from '../builds/lifecycle/present.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { listQueued } from '../store/builds/queue.ts'
import { findRuntime } from '../store/runtimes/runtimes.ts'
import { listLivePairs } from '../store/runtimes/warm-pairs.ts'
import { listRuntimeSamples } from '../store/samples.ts'
import { PAIR_ATTEMPT } from '../warm/pairs.ts'

const MAX_BUILDS = 100

/** Returns the activity of a runtime. Throws `not-found`. */
export async function readActivity(app: App, name: string): Promise<RuntimeActivity> {
  const { accountId, store } = app
  const row = requireFound(await findRuntime(store.query, accountId, name), `runtime "${name}"`)
  const isOwn = ({ runtime }: { readonly runtime: string | null }): boolean =>
    runtime === row.name || (runtime === null && row.is_default === 1)
  const holders = (await readHolders(app)).filter(({ runtime }) => runtime === row.name)
  const queued = (await listQueued(store.query, { accountId })).filter(isOwn)
  const pairs = (await listLivePairs(store.query, accountId)).filter(({ runtime }) => runtime === row.name)
  return {
    running: holders.slice(0, MAX_BUILDS).map(toRef),
    waiting: queued.slice(0, MAX_BUILDS).map(({ id, number, pipeline, branch, reason, queued_at: since }) => ({
      id,
      number,
      since,
      ...present({ pipeline, branch, reason }),
    })),
    pairs: pairs.flatMap(({ id, status, pipeline_id: pipelineId, created_at: createdAt, ready_at: readyAt }) => {
      if (status === 'taken' || status === 'gone') return []
      const { engine, dind } = objectNames(id, PAIR_ATTEMPT)
      return [{ id, status, createdAt, pods: [engine, dind], ...present({ pipelineId, readyAt }) }]
    }),
    samples: (await listRuntimeSamples(store.query, accountId, row.name)).map(({ at, running, waiting, pairs: ready }) => ({
      at,
      running,
      waiting,
      pairs: ready,
    })),
  }
}
