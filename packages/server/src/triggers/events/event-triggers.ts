/** Triggers for images, charts and ended builds as a resource. Those of a document are replaced with it; others are created by users. */
import { defined, fault, newId } from '@windlass/kit'
import { EventTrigger, PipelineEventTrigger, type EventTriggerInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { noteDetail } from '../../audit/call.ts'
import { describeChanges } from '../../audit/describe-changes.ts'
import { requireFound } from '../../builds/lifecycle/require-found.ts'
import type { AuthorizePipeline } from '../../pipelines/pipeline-use.ts'
import type { EventTriggerRow, PipelineRow } from '../../store/schema/schema.ts'
import type { Query, Tx, Within } from '../../store/store.ts'
import {
  deleteEventTriggers,
  findEventTriggerByName,
  listEventTriggers,
  listEventTriggersOfPipeline,
  saveEventTrigger,
  type NamedEventTrigger,
} from '../../store/triggers/event-triggers.ts'
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
import { problemOf } from './read-event-triggers.ts'

const KIND: TriggerKind = { one: 'an event trigger', many: 'event triggers', field: 'spec.triggers' }

/** A trigger to store, for a caller. Without `authorize` everything is allowed. */
export interface EventTriggerWrite {
  readonly input: z.output<typeof EventTriggerInput>
  readonly authorize?: AuthorizePipeline | undefined
}

/** Creates a trigger. `within` runs in the same transaction. Throws `not-found`, `conflict`, `request-invalid`, and what `authorize` throws. */
export async function createEventTrigger(
  app: App,
  write: EventTriggerWrite,
  within?: Within<PipelineEventTrigger>,
): Promise<PipelineEventTrigger> {
  const spec = readSpec(write)
  return app.store.write(async (tx) => {
    const pipeline = await lockTarget(app, tx, write, spec)
    const others = await listEventTriggersOfPipeline(tx, pipeline.id)
    requireNewName(KIND, { pipeline, name: spec.name, others })
    const row = toRow(spec, { pipeline, origin: 'api', now: app.clock.now() })
    await saveEventTrigger(tx, row)
    noteDetail(describeChanges(`${pipeline.name}#${spec.name}`, undefined, spec))
    const shown = showEventTrigger({ ...row, pipeline: pipeline.name })
    await within?.(tx, shown)
    return shown
  })
}

/** Replaces a trigger that a user has created. Throws like `createEventTrigger`, and `conflict` for a trigger of a document. */
export async function putEventTrigger(app: App, id: string, write: EventTriggerWrite): Promise<PipelineEventTrigger> {
  const spec = readSpec(write)
  return app.store.write(async (tx) => {
    const before = requireOwn(KIND, await getEventTrigger(tx.query, app.accountId, id))
    const pipeline = await lockTarget(app, tx, write, spec)
    requireSamePipeline(before, pipeline)
    const others = await listEventTriggersOfPipeline(tx, pipeline.id)
    requireNewName(KIND, { pipeline, name: spec.name, others }, before)
    const row = toRow(spec, { pipeline, origin: 'api', now: app.clock.now(), before })
    await saveEventTrigger(tx, row)
    noteDetail(describeChanges(`${pipeline.name}#${spec.name}`, EventTrigger.parse(JSON.parse(before.spec)), spec))
    return showEventTrigger({ ...row, pipeline: pipeline.name })
  })
}

/** Deletes a trigger that a user has created. Throws `not-found`, and `conflict` for a trigger of a document. */
export async function removeEventTrigger(app: App, id: string): Promise<void> {
  await app.store.write(async (tx) =>
    deleteEventTriggers(tx, [requireOwn(KIND, await getEventTrigger(tx.query, app.accountId, id)).id]),
  )
}

function readSpec({ input: { pipeline: _pipeline, ...written } }: EventTriggerWrite): EventTrigger {
  const spec = EventTrigger.parse(written)
  refuseEncrypted(spec.variables)
  return spec
}

async function lockTarget(app: App, tx: Tx, { input, authorize }: EventTriggerWrite, spec: EventTrigger): Promise<PipelineRow> {
  const pipeline = await lockPipelineOf(app, tx, { pipeline: input.pipeline, authorize }, spec)
  const message = problemOf(spec, [pipeline.name, pipeline.id])
  if (message !== undefined) throw fault('request-invalid', { message: `The trigger can never start a build: ${message}.` })
  return pipeline
}

/** Returns a trigger by its id or `pipeline#name`. Throws `not-found`. */
export async function getEventTrigger(query: Query, accountId: string, id: string): Promise<NamedEventTrigger> {
  return requireFound(await findEventTriggerByName(query, accountId, id), `event trigger "${id}"`)
}

/** Lists triggers, oldest first. Throws `not-found` for an unknown pipeline. */
export async function listEventTriggerPage(app: App, { pipeline, ...range }: TriggerList): Promise<PipelineEventTrigger[]> {
  const pipelineId = await findListedPipeline(app, { pipeline, places: range.places })
  const rows = await listEventTriggers(app.store.query, { accountId: app.accountId, pipelineId, ...range })
  return rows.map(showEventTrigger)
}

/** Converts a trigger for the API. */
export function showEventTrigger(row: Omit<NamedEventTrigger, 'project_id'>): PipelineEventTrigger {
  return PipelineEventTrigger.parse({
    ...EventTrigger.parse(JSON.parse(row.spec)),
    id: row.id,
    pipeline: row.pipeline,
    origin: row.origin,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  })
}

/** Replaces the triggers that came with the document of a pipeline. A trigger of a user with the same name is replaced, too. */
export async function replaceDocumentEventTriggers(
  tx: Tx,
  pipeline: Pick<PipelineRow, 'id' | 'account_id'>,
  { triggers, now }: { readonly triggers: readonly EventTrigger[]; readonly now: number },
): Promise<void> {
  const stored = await listEventTriggersOfPipeline(tx, pipeline.id)
  await deleteEventTriggers(tx, removedFromDocument(stored, triggers))
  for (const trigger of triggers) {
    const before = stored.find(({ name }) => name === trigger.name)
    await saveEventTrigger(tx, toRow(trigger, { pipeline, origin: 'document', now, ...defined({ before }) }))
  }
}

interface RowOf {
  readonly pipeline: Pick<PipelineRow, 'id' | 'account_id'>
  readonly origin: EventTriggerRow['origin']
  readonly now: number
  readonly before?: EventTriggerRow
}

function toRow(spec: EventTrigger, { pipeline, origin, now, before }: RowOf): EventTriggerRow {
  return {
    id: before?.id ?? newId(now),
    account_id: pipeline.account_id,
    pipeline_id: pipeline.id,
    name: spec.name,
    origin,
    type: spec.type,
    subject: subjectOf(spec),
    spec: JSON.stringify(spec),
    created_at: before?.created_at ?? now,
    updated_at: now,
  }
}

function subjectOf(spec: EventTrigger): string {
  switch (spec.type) {
    case 'registry':
      return spec.image.toLowerCase()
    case 'helm':
      return spec.chart.toLowerCase()
    case 'build':
      return spec.source
  }
}
