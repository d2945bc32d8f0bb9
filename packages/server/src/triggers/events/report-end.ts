/** The end of a build as an event, in the same inbox as the calls of webhooks. It is stored in the transaction that ends the build. */
import { newId } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import type { BuildRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { insertDelivery } from '../../store/triggers/deliveries.ts'
import { hasBuildTrigger } from '../../store/triggers/event-triggers.ts'
import { DELIVERY_TOPIC, newDelivery } from '../deliveries/new-delivery.ts'

interface EndedBuild {
  readonly tx: Tx
  readonly now: number
  /** The stored row; the same row for a new build. */
  readonly before: Pick<BuildRow, 'status'>
  readonly build: BuildRow
}

/** Stores the end of a build, if it ended in this edit and a trigger names its pipeline. */
export async function reportEnd({ tx, now, before, build }: EndedBuild): Promise<void> {
  const { id, account_id: account, pipeline, pipeline_id: pipelineId, branch, revision } = build
  if (!isFinalBuild(build.status) || isFinalBuild(before.status) || pipeline === null || pipelineId === null) return
  if (!(await hasBuildTrigger(tx.query, account, [pipelineId, pipeline]))) return
  const { isRepeat } = await insertDelivery(tx, {
    ...newDelivery({ id: '', account_id: account, forge: 'windlass' }, { id: newId(now), now }),
    key: `build:${id}`,
    event: 'build',
    repo: pipeline,
    branch,
    revision,
    status: 'received',
    body: JSON.stringify({ build: describe(build) }),
    next_at: now,
  })
  if (!isRepeat) tx.wake(DELIVERY_TOPIC)
}

function describe(build: BuildRow): object {
  const { id, number, pipeline, status, reason, branch, revision, initiator } = build
  return { id, number, pipeline, status, reason, branch, revision, initiator }
}
