/** Triggers of pipelines as a resource. Those of a document are replaced with it; others are created by users. */
import { defined, fault, newId } from '@windlass/kit'
import { GitTrigger, type PipelineTrigger, type TriggerInput } from '@windlass/protocol'
import { PatternError } from '@windlass/plan'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { noteDetail } from '../audit/call.ts'
import { describeChanges } from '../audit/describe-changes.ts'
import { ELECT_TOPIC } from '../builds/lifecycle/edit.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import type { AuthorizePipeline } from '../pipelines/pipeline-use.ts'
import type { PipelineRow, PipelineTriggerRow } from '../store/schema/schema.ts'
import type { Query, Tx, Within } from '../store/store.ts'
import {
  deleteTriggers,
  findTriggerByName,
  listTriggers,
  listTriggersOfPipeline,
  saveTrigger,
} from '../store/triggers/triggers.ts'
import type { NamedTrigger } from '../store/triggers/triggers.ts'
import { checkFilter } from './rules/filter.ts'
import { checkGlob } from './rules/glob.ts'
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
} from './of-pipeline.ts'

const KIND: TriggerKind = { one: 'a trigger', many: 'triggers', field: 'spec.triggers' }

/** A trigger to store, for a caller. Without `authorize` everything is allowed. */
export interface TriggerWrite {
  readonly input: z.output<typeof TriggerInput>
  readonly authorize?: AuthorizePipeline | undefined
}

/** Creates a trigger. `within` runs in the same transaction. Throws `not-found`, `conflict`, `request-invalid`, and what `authorize` throws. */
export async function createTrigger(
  app: App,
  { input, authorize }: TriggerWrite,
  within?: Within<PipelineTrigger>,
): Promise<PipelineTrigger> {
  const { pipeline: name, ...written } = input
  const spec = GitTrigger.parse(written)
  checkSpec(spec)
  return app.store.write(async (tx) => {
    const pipeline = await lockPipelineOf(app, tx, { pipeline: name, authorize }, spec)
    const others = await listTriggersOfPipeline(tx, pipeline.id)
    requireNewName(KIND, { pipeline, name: spec.name, others })
    const row = toRow(spec, { pipeline, origin: 'api', now: app.clock.now() })
    await saveTrigger(tx, row)
    noteDetail(describeChanges(`${pipeline.name}#${spec.name}`, undefined, spec))
    const shown = showTrigger({ ...row, pipeline: pipeline.name })
    await within?.(tx, shown)
    return shown
  })
}

/** Replaces a trigger that a user has created. Throws like `createTrigger`, and `conflict` for a trigger of a document. */
export async function putTrigger(app: App, id: string, { input, authorize }: TriggerWrite): Promise<PipelineTrigger> {
  const { pipeline: name, ...written } = input
  const spec = GitTrigger.parse(written)
  checkSpec(spec)
  return app.store.write(async (tx) => {
    const before = requireOwn(KIND, await getTrigger(tx.query, app.accountId, id))
    const pipeline = await lockPipelineOf(app, tx, { pipeline: name, authorize }, spec)
    requireSamePipeline(before, pipeline)
    const others = await listTriggersOfPipeline(tx, pipeline.id)
    requireNewName(KIND, { pipeline, name: spec.name, others }, before)
    const row = toRow(spec, { pipeline, origin: 'api', now: app.clock.now(), before })
    await saveTrigger(tx, row)
    noteDetail(describeChanges(`${pipeline.name}#${spec.name}`, GitTrigger.parse(JSON.parse(before.spec)), spec))
    tx.wake(ELECT_TOPIC)
    return showTrigger({ ...row, pipeline: pipeline.name })
  })
}

/** Deletes a trigger that a user has created. Throws `not-found`, and `conflict` for a trigger of a document. */
export async function removeTrigger(app: App, id: string): Promise<void> {
  await app.store.write(async (tx) => {
    const row = requireOwn(KIND, await getTrigger(tx.query, app.accountId, id))
    await deleteTriggers(tx, [row.id])
    tx.wake(ELECT_TOPIC)
  })
}

/** Returns a trigger by its id or `pipeline#name`. Throws `not-found`. */
export async function getTrigger(query: Query, accountId: string, id: string): Promise<NamedTrigger> {
  return requireFound(await findTriggerByName(query, accountId, id), `trigger "${id}"`)
}

/** Lists triggers, oldest first. Throws `not-found` for an unknown pipeline. */
export async function listTriggerPage(app: App, { pipeline, ...range }: TriggerList): Promise<PipelineTrigger[]> {
  const pipelineId = await findListedPipeline(app, { pipeline, places: range.places })
  const rows = await listTriggers(app.store.query, { accountId: app.accountId, pipelineId, ...range })
  return rows.map(showTrigger)
}

/** Converts a trigger for the API. */
export function showTrigger(row: Omit<NamedTrigger, 'project_id'>): PipelineTrigger {
  return {
    ...GitTrigger.parse(JSON.parse(row.spec)),
    id: row.id,
    pipeline: row.pipeline,
    origin: row.origin,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** Replaces the triggers that came with the document of a pipeline. A trigger of a user with the same name is replaced, too. */
export async function replaceDocumentTriggers(
  tx: Tx,
  pipeline: Pick<PipelineRow, 'id' | 'account_id'>,
  { triggers, now }: { readonly triggers: readonly GitTrigger[]; readonly now: number },
): Promise<void> {
  const stored = await listTriggersOfPipeline(tx, pipeline.id)
  await deleteTriggers(tx, removedFromDocument(stored, triggers))
  for (const trigger of triggers) {
    const before = stored.find(({ name }) => name === trigger.name)
    await saveTrigger(tx, toRow(trigger, { pipeline, origin: 'document', now, ...defined({ before }) }))
  }
}

interface RowOf {
  readonly pipeline: Pick<PipelineRow, 'id' | 'account_id'>
  readonly origin: PipelineTriggerRow['origin']
  readonly now: number
  readonly before?: PipelineTriggerRow
}

function toRow(spec: GitTrigger, { pipeline, origin, now, before }: RowOf): PipelineTriggerRow {
  return {
    id: before?.id ?? newId(now),
    account_id: pipeline.account_id,
    pipeline_id: pipeline.id,
    name: spec.name,
    origin,
    repo: spec.repo.toLowerCase(),
    concurrency: spec.concurrency ?? null,
    spec: JSON.stringify(spec),
    created_at: before?.created_at ?? now,
    updated_at: now,
  }
}

/** Throws `request-invalid` for encrypted variables, and for filters that no text could match. */
function checkSpec(spec: GitTrigger): void {
  refuseEncrypted(spec.variables)
  for (const field of ['branchRegex', 'pullRequestTargetBranchRegex', 'commentRegex', 'modifiedFilesGlob'] as const) {
    const filter = spec[field]
    if (filter === undefined) continue
    try {
      if (field === 'modifiedFilesGlob') checkGlob(filter)
      else checkFilter(filter)
    } catch (error) {
      if (!(error instanceof PatternError)) throw error
      const message = `${field} cannot be used: ${error.message}.`
      throw fault('request-invalid', { message, problems: [{ path: field, message }] })
    }
  }
}
