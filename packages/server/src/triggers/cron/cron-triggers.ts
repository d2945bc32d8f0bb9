/** Cron triggers as a resource. Those of a document are replaced with it; others are created by users. */
import { defined, fault, newId } from '@windlass/kit'
import { nextTick } from '@windlass/plan/schedule'
import { CronTrigger, type CronTriggerInput, type PipelineCronTrigger } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { noteDetail } from '../../audit/call.ts'
import { describeChanges } from '../../audit/describe-changes.ts'
import { present } from '../../builds/lifecycle/view.ts'
import { requireFound } from '../../builds/lifecycle/require-found.ts'
import type { AuthorizePipeline } from '../../pipelines/pipeline-use.ts'
import type { CronTriggerRow, PipelineRow } from '../../store/schema/schema.ts'
import type { Query, Tx, Within } from '../../store/store.ts'
import {
  deleteCronTriggers,
  findCronTriggerByName,
  listCronTriggers,
  listCronTriggersOfPipeline,
  saveCronTrigger,
  type NamedCronTrigger,
} from '../../store/triggers/cron-triggers.ts'
import {
  findListedPipeline,
  lockPipelineOf,
  refuseEncrypted,
  removedFromDocument,
  requireNewName,
  requireOwn,
  requireSamePipeline,
  type TriggerKind,
  type TriggerList,
} from '../of-pipeline.ts'
import { problemOf } from './read-cron-triggers.ts'

const KIND: TriggerKind = { one: 'a cron trigger', many: 'cron triggers', field: 'spec.cronTriggers' }

type Input = z.output<typeof CronTriggerInput>

/** A cron trigger to store, for a caller. Without `authorize` everything is allowed. */
export interface CronTriggerWrite {
  readonly input: Input
  readonly authorize?: AuthorizePipeline | undefined
}

/** Creates a cron trigger. `within` runs in the same transaction. Throws `not-found`, `conflict`, `request-invalid`, and what `authorize` throws. */
export async function createCronTrigger(
  app: App,
  { input, authorize }: CronTriggerWrite,
  within?: Within<PipelineCronTrigger>,
): Promise<PipelineCronTrigger> {
  const spec = readSpec(input)
  return app.store.write(async (tx) => {
    const pipeline = await lockPipelineOf(app, tx, { pipeline: input.pipeline, authorize }, spec)
    const others = await listCronTriggersOfPipeline(tx, pipeline.id)
    requireNewName(KIND, { pipeline, name: spec.name, others })
    const row = toRow(spec, { pipeline, origin: 'api', now: app.clock.now() })
    await saveCronTrigger(tx, row)
    noteDetail(describeChanges(`${pipeline.name}#${spec.name}`, undefined, spec))
    const shown = showCronTrigger({ ...row, pipeline: pipeline.name })
    await within?.(tx, shown)
    return shown
  })
}

/** Replaces a cron trigger that a user has created. Throws like `createCronTrigger`, and `conflict` for a trigger of a document. */
export async function putCronTrigger(app: App, id: string, { input, authorize }: CronTriggerWrite): Promise<PipelineCronTrigger> {
  const spec = readSpec(input)
  return app.store.write(async (tx) => {
    const before = requireOwn(KIND, await getCronTrigger(tx.query, app.accountId, id))
    const pipeline = await lockPipelineOf(app, tx, { pipeline: input.pipeline, authorize }, spec)
    requireSamePipeline(before, pipeline)
    const others = await listCronTriggersOfPipeline(tx, pipeline.id)
    requireNewName(KIND, { pipeline, name: spec.name, others }, before)
    const row = toRow(spec, { pipeline, origin: 'api', now: app.clock.now(), before })
    await saveCronTrigger(tx, row)
    noteDetail(describeChanges(`${pipeline.name}#${spec.name}`, CronTrigger.parse(JSON.parse(before.spec)), spec))
    return showCronTrigger({ ...row, pipeline: pipeline.name })
  })
}

/** Deletes a cron trigger that a user has created. Throws `not-found`, and `conflict` for a trigger of a document. */
export async function removeCronTrigger(app: App, id: string): Promise<void> {
  await app.store.write(async (tx) =>
    deleteCronTriggers(tx, [requireOwn(KIND, await getCronTrigger(tx.query, app.accountId, id)).id]),
  )
}

function readSpec({ pipeline: _pipeline, ...written }: Input): CronTrigger {
  const spec = CronTrigger.parse(written)
  const message = problemOf(spec)
  if (message !== undefined) throw fault('request-invalid', { message: `The trigger can never start a build: ${message}.` })
  refuseEncrypted(spec.variables)
  return spec
}

/** Returns a cron trigger by its id or `pipeline#name`. Throws `not-found`. */
export async function getCronTrigger(query: Query, accountId: string, id: string): Promise<NamedCronTrigger> {
  return requireFound(await findCronTriggerByName(query, accountId, id), `cron trigger "${id}"`)
}

/** Lists cron triggers, oldest first. Throws `not-found` for an unknown pipeline. */
export async function listCronTriggerPage(app: App, { pipeline, ...range }: TriggerList): Promise<PipelineCronTrigger[]> {
  const pipelineId = await findListedPipeline(app, { pipeline, places: range.places })
  const rows = await listCronTriggers(app.store.query, { accountId: app.accountId, pipelineId, ...range })
  return rows.map(showCronTrigger)
}

/** Converts a cron trigger for the API. */
export function showCronTrigger(row: Omit<NamedCronTrigger, 'project_id'>): PipelineCronTrigger {
  return {
    ...CronTrigger.parse(JSON.parse(row.spec)),
    id: row.id,
    pipeline: row.pipeline,
    origin: row.origin,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...present({ nextAt: row.next_at, firedAt: row.fired_at, problem: row.problem }),
  }
}

/** Replaces the cron triggers that came with the document of a pipeline. A trigger of a user with the same name is replaced, too. */
export async function replaceDocumentCronTriggers(
  tx: Tx,
  pipeline: Pick<PipelineRow, 'id' | 'account_id'>,
  { triggers, now }: { readonly triggers: readonly CronTrigger[]; readonly now: number },
): Promise<void> {
  const stored = await listCronTriggersOfPipeline(tx, pipeline.id)
  await deleteCronTriggers(tx, removedFromDocument(stored, triggers))
  for (const trigger of triggers) {
    const before = stored.find(({ name }) => name === trigger.name)
    await saveCronTrigger(tx, toRow(trigger, { pipeline, origin: 'document', now, ...defined({ before }) }))
  }
}

interface RowOf {
  readonly pipeline: Pick<PipelineRow, 'id' | 'account_id'>
  readonly origin: CronTriggerRow['origin']
  readonly now: number
  readonly before?: CronTriggerRow
}

function toRow(spec: CronTrigger, { pipeline, origin, now, before }: RowOf): CronTriggerRow {
  return {
    id: before?.id ?? newId(now),
    account_id: pipeline.account_id,
    pipeline_id: pipeline.id,
    name: spec.name,
    origin,
    spec: JSON.stringify(spec),
    next_at: spec.disabled ? null : (nextOf(spec, { now, before }) ?? null),
    fired_at: before?.fired_at ?? null,
    problem: null,
    created_at: before?.created_at ?? now,
    updated_at: now,
  }
}

/** A trigger whose times do not change keeps its next time, so that storing it does not skip a build that is due. */
function nextOf(spec: CronTrigger, { now, before }: { now: number; before: CronTriggerRow | undefined }): number | undefined {
  if (typeof before?.next_at === 'number') {
    const old = CronTrigger.parse(JSON.parse(before.spec))
    if (old.expression === spec.expression && old.timezone === spec.timezone) return before.next_at
  }
  return nextTick(spec, now)
}
