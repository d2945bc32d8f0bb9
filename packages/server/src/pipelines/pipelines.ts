/** Stored pipelines. The document is stored as written, except for encrypted values. */
import { fault, newId, type Fault } from '@windlass/kit'
import { hasReservedPart, type Pipeline, type PipelineInput } from '@windlass/protocol'
import type { App } from '../app.ts'
import { noteSubject } from '../audit/call.ts'
import { describeChanges } from '../audit/describe-changes.ts'
import { ELECT_TOPIC } from '../builds/lifecycle/edit.ts'
import { present } from '../builds/lifecycle/view.ts'
import { readDocumentSettings, type DocumentSettings } from './document-settings.ts'
import { deletePipeline, findPipeline, lockPipeline, savePipeline } from '../store/pipelines/pipelines.ts'
import { deletePipelineVersions } from '../store/pipelines/pipeline-versions.ts'
import { findProject, listProjects, NO_QUOTAS, saveProject } from '../store/pipelines/projects.ts'
import { deletePipelineRoles } from '../store/access/roles.ts'
import type { PipelineRow } from '../store/schema/schema.ts'
import type { Tx, Within } from '../store/store.ts'
import { deleteTriggersOfPipeline } from '../store/triggers/triggers.ts'
import { deleteCronTriggersOfPipeline } from '../store/triggers/cron-triggers.ts'
import { deleteEventTriggersOfPipeline } from '../store/triggers/event-triggers.ts'
import { replaceDocumentCronTriggers } from '../triggers/cron/cron-triggers.ts'
import { replaceDocumentEventTriggers } from '../triggers/events/event-triggers.ts'
import { listTriggerRuntimes } from '../triggers/trigger-runtimes.ts'
import { replaceDocumentTriggers } from '../triggers/triggers.ts'
import { addVersion, type Change } from './add-version.ts'
import { stringifyMasked } from './mask-document.ts'
import type { AuthorizePipeline } from './pipeline-use.ts'
import { readPipelineSettings, requireSettings } from './settings.ts'
import { validateDocument } from './validate-document.ts'
import { maskVariables, readContextNames, sealVariables } from './variables.ts'
import { compareContent, settingsOf, type ContentChange } from './version-content.ts'

/** Condition for a write: the revision that the writer read, or that the pipeline does not exist yet. */
export interface Precondition {
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
}

interface NewPipeline {
  readonly input: PipelineInput
  /** Default: the server itself, for no reason. */
  readonly change?: Change | undefined
  readonly authorize?: AuthorizePipeline | undefined
}

/**
 * Creates a pipeline and returns it with the problems of its document. `within` runs in the same transaction. Throws `conflict` if the name is taken,
 * `document-invalid` and `request-invalid` if the document cannot be stored.
 */
export async function createPipeline(
  app: App,
  { input, authorize, change }: NewPipeline,
  within?: Within<Pipeline>,
): Promise<Pipeline> {
  const document = await readPutDocument(app, input)
  // Found before the transaction, because a process parses the document.
  const problems = await findProblems(app, { document: document.masked, settings: document.written?.settings ?? input.settings })
  return app.store.write(async (tx) => {
    const { pipeline } = await writePipeline(app, tx, { input, document, precondition: { ifNoneMatch: '*' }, authorize, change })
    const shown = { ...pipeline, ...problems }
    await within?.(tx, shown)
    return shown
  })
}

/** Returns the problems of a stored document, which may have some. Empty if it has none. */
export async function findProblems(
  app: App,
  { document, settings }: Pick<Pipeline, 'document' | 'settings'>,
): Promise<Pick<Pipeline, 'problems'>> {
  const problems = await validateDocument(app, { text: document, file: 'pipeline.yaml' }, settings)
  return problems.length === 0 ? {} : { problems: problems.map((problem) => ({ ...problem })) }
}

export interface Put {
  /** Who writes the pipeline, and why. Default: the server itself. */
  readonly change?: Change | undefined
  /** Id or name of the pipeline to replace. Default: the name in the input. */
  readonly name?: string | undefined
  readonly input: PipelineInput
  readonly precondition: Precondition
  /** Called in the transaction, because the document may name another project than the path. Default: everything is allowed. */
  readonly authorize?: AuthorizePipeline | undefined
}

/**
 * Creates or replaces a pipeline by name. Creates the project before the slash if it does not exist. A change makes a version; the same content makes none.
 * Throws `conflict`, `request-invalid`.
 */
export async function putPipeline(app: App, put: Put): Promise<{ pipeline: Pipeline; isNew: boolean }> {
  const document = await readPutDocument(app, put.input)
  return app.store.write((tx) => writePipeline(app, tx, { ...put, document }))
}

async function readPutDocument(app: App, input: PipelineInput): Promise<DocumentSettings> {
  const document = await readDocumentSettings(app, input.document, 'pipeline.yaml')
  if (document.written !== undefined) requireSettings(document.written)
  return document
}

async function writePipeline(
  app: App,
  tx: Tx,
  put: Put & { readonly document: DocumentSettings },
): Promise<{ pipeline: Pipeline; isNew: boolean }> {
  const { input, document } = put
  const name = document.written?.name ?? input.name
  const before = await lockPipeline(tx, app.accountId, put.name ?? name)
  // Before everything that tells whether the pipeline exists. A role for the pipeline neither creates nor renames it.
  const place = { project: await findProjectOf(app, tx, name), pipeline: before?.name === name ? before.id : null }
  if (put.authorize !== undefined) {
    const runtimes = runtimesOf(put)
    const ofTriggers = before === undefined ? [] : await listTriggerRuntimes(tx, before.id)
    const runsOn = [runtimeOf(put) ?? undefined, ...runtimes, ...ofTriggers]
    await put.authorize({ place, usesContexts: contextsOf(put).length > 0, runtimes, runsOn }, tx.query)
  }
  if (before === undefined && put.name !== undefined && put.name !== name) {
    throw fault('request-invalid', {
      message: `The document is for the pipeline "${name}", not "${put.name}".`,
      hint: 'Change the name in the document or the name in the path.',
    })
  }
  checkPrecondition(put.precondition, before, name)
  if (before?.name !== name) requireOwnName(name)
  if (before !== undefined && before.name !== name && (await findPipeline(tx.query, app.accountId, name)) !== undefined) {
    throw alreadyExists(name)
  }
  const written = await toRow(app, tx, { name, input, document, before })
  const changed = before === undefined ? undefined : compareContent(app.vault, before, written)
  const isSame = before !== undefined && changed !== undefined && !Object.values(changed).includes(true)
  // The sealed texts are the new ones in any case, because a rotation can have changed the key.
  const row = isSame ? { ...written, revision: before.revision, updated_at: before.updated_at } : written
  await savePipeline(tx, row)
  if (!isSame) await addVersion(app, tx, { before, after: row, change: put.change ?? { by: 'server' } })
  const now = written.updated_at
  await replaceDocumentTriggers(tx, row, { triggers: document.written?.triggers ?? [], now })
  await replaceDocumentCronTriggers(tx, row, { triggers: document.written?.cronTriggers ?? [], now })
  await replaceDocumentEventTriggers(tx, row, { triggers: document.written?.eventTriggers ?? [], now })
  noteSubject(describeWrite(row, before, changed))
  tx.wake(ELECT_TOPIC)
  return { pipeline: await showPipeline(app, tx, row), isNew: before === undefined }
}

/** Returns what a write changes as the audit log says it. The versions of the pipeline have the documents, which are too long for it. */
function describeWrite(after: PipelineRow, before?: PipelineRow, changed?: ContentChange): string {
  const version = `pipeline ${after.name}, version ${after.revision}`
  if (before === undefined || changed === undefined) return version
  if (before.revision === after.revision) return `pipeline ${after.name}: no change`
  const parts = [...(changed.document ? ['document'] : []), ...(changed.variables ? ['variables'] : [])]
  const what = parts.length === 0 ? version : `${version} (${parts.join(' and ')} changed)`
  return changed.settings ? describeChanges(what, settingsOf(before), settingsOf(after)) : what
}

/** Refuses a name from a document that has a reserved part. */
function requireOwnName(name: string): void {
  if (hasReservedPart(name))
    throw fault('request-invalid', { message: `name: "${name}" must not have a part that is only -`, hint: 'Use another name.' })
}

function checkPrecondition({ ifMatch, ifNoneMatch }: Precondition, before: PipelineRow | undefined, name: string): void {
  if (ifNoneMatch === '*' && before !== undefined) throw alreadyExists(name)
  if (ifMatch === undefined) return
  if (before === undefined)
    throw fault('conflict', {
      message: `The pipeline "${name}" does not exist and cannot be replaced.`,
      hint: 'Create it first, or check the name.',
    })
  const tags = ifMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (ifMatch !== '*' && !tags.includes(etag(before))) {
    throw fault('conflict', {
      message: `The pipeline "${name}" was changed in the meantime. It is at revision ${before.revision} now.`,
    })
  }
}

function alreadyExists(name: string): Fault {
  return fault('conflict', {
    message: `The pipeline "${name}" already exists.`,
    hint: 'Use another name, or replace the existing one.',
  })
}

export function etag({ revision }: { revision: number }): string {
  return `"${revision}"`
}

interface Source {
  readonly name: string
  readonly input: PipelineInput
  readonly document: DocumentSettings
  readonly before: PipelineRow | undefined
}

function contextsOf({ input, document: { written } }: Pick<Source, 'input' | 'document'>): readonly string[] {
  return written === undefined || written.contexts.length === 0 ? input.contexts : written.contexts
}

function runtimeOf({ input, document: { written } }: Pick<Source, 'input' | 'document'>): string | null {
  return written?.runtime ?? input.runtime ?? null
}

/** Returns the names of the runtimes that the pipeline and the triggers of its document choose. */
function runtimesOf(put: Pick<Source, 'input' | 'document'>): string[] {
  const { triggers = [], cronTriggers = [], eventTriggers = [] } = put.document.written ?? {}
  const ofTriggers = [...triggers, ...cronTriggers, ...eventTriggers].map((trigger) => trigger.runtimeEnvironment?.name)
  return [runtimeOf(put), ...ofTriggers].filter((name) => typeof name === 'string')
}

async function toRow(app: App, tx: Tx, { name, input, document, before }: Source): Promise<PipelineRow> {
  const { written, masked } = document
  const now = app.clock.now()
  const id = before?.id ?? newId(now)
  const variables = written === undefined || written.variables.length === 0 ? input.variables : written.variables
  return {
    id,
    account_id: app.accountId,
    project_id: await projectOf(app, tx, name),
    name,
    document: masked,
    variables: sealVariables(await app.vault.sealer(tx), { id, account_id: app.accountId }, variables, before),
    contexts: JSON.stringify(contextsOf({ input, document })),
    runtime: runtimeOf({ input, document }),
    concurrency: written?.concurrency ?? input.concurrency ?? null,
    branch_concurrency: written?.branchConcurrency ?? input.branchConcurrency ?? null,
    trigger_concurrency: written?.triggerConcurrency ?? input.triggerConcurrency ?? null,
    settings: stringifyMasked(written?.settings ?? input.settings),
    priority: written?.priority === undefined || written.priority === 0 ? input.priority : written.priority,
    revision: (before?.revision ?? 0) + 1,
    created_at: before?.created_at ?? now,
    updated_at: now,
  }
}

/** Returns the name of the project of `project/pipeline`; undefined for a bare name. */
function projectNameOf(name: string): string | undefined {
  const slash = name.lastIndexOf('/')
  return slash <= 0 ? undefined : name.slice(0, slash)
}

/** Returns the id of the project that a pipeline with this name belongs to; null for a bare name, empty for a project that does not exist. */
async function findProjectOf(app: App, tx: Tx, name: string): Promise<string | null> {
  const project = projectNameOf(name)
  return project === undefined ? null : ((await findProject(tx.query, app.accountId, project))?.id ?? '')
}

/** Returns the project of `project/pipeline`, which is created if it does not exist; null for a bare name. */
async function projectOf(app: App, tx: Tx, name: string): Promise<string | null> {
  const project = projectNameOf(name)
  if (project === undefined) return null
  const known = await findProject(tx.query, app.accountId, project)
  if (known !== undefined) return known.id
  const now = app.clock.now()
  const id = newId(now)
  await saveProject(tx, {
    ...NO_QUOTAS,
    id,
    account_id: app.accountId,
    name: project,
    variables: '{}',
    created_at: now,
    updated_at: now,
  })
  return id
}

/** Converts a pipeline for the API. */
export async function showPipeline(app: App, tx: Pick<Tx, 'query'> | undefined, row: PipelineRow): Promise<Pipeline> {
  const project =
    row.project_id === null ? undefined : await findProject(tx?.query ?? app.store.query, app.accountId, row.project_id)
  return toPipeline(row, project?.name)
}

function toPipeline(row: PipelineRow, project: string | undefined): Pipeline {
  return {
    id: row.id,
    name: row.name,
    document: row.document,
    variables: maskVariables(row),
    contexts: readContextNames(row),
    priority: row.priority,
    settings: readPipelineSettings(row),
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...present({
      project,
      runtime: row.runtime,
      concurrency: row.concurrency,
      branchConcurrency: row.branch_concurrency,
      triggerConcurrency: row.trigger_concurrency,
    }),
  }
}

/** Converts pipelines for the API, each when the caller takes it, with one query for their projects. */
export async function showPipelines(app: App, rows: readonly PipelineRow[]): Promise<IteratorObject<Pipeline>> {
  const projects = new Map(
    (await listProjects(app.store.query, { accountId: app.accountId, after: undefined, limit: 100_000 })).map(({ id, name }) => [
      id,
      name,
    ]),
  )
  return rows.values().map((row) => toPipeline(row, row.project_id === null ? undefined : projects.get(row.project_id)))
}

/** Deletes a pipeline with its triggers, roles and versions, but not its builds. Throws `not-found`. */
export async function removePipeline(app: App, name: string): Promise<void> {
  await app.store.write(async (tx) => {
    const row = await lockPipeline(tx, app.accountId, name)
    if (row === undefined) throw fault('not-found', { message: `The pipeline "${name}" does not exist.` })
    noteSubject(`pipeline ${row.name}`)
    await deleteTriggersOfPipeline(tx, row.id)
    await deleteCronTriggersOfPipeline(tx, row.id)
    await deleteEventTriggersOfPipeline(tx, row.id)
    await deletePipelineRoles(tx, { pipeline_id: row.id })
    await deletePipelineVersions(tx, row.id)
    await deletePipeline(tx, row.id)
    tx.wake(ELECT_TOPIC)
  })
}
