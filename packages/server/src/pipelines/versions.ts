/** Reads, compares and restores the versions of pipelines. */
import { defined, fault } from '@windlass/kit'
import { unifiedDiff } from '@windlass/plan'
import type { Pipeline, PipelineDiff, PipelineVersion, PipelineVersionContent } from '@windlass/protocol'
import type { App } from '../app.ts'
import { present } from '../builds/lifecycle/present.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { diffLeaves } from '../runtimes/diff-leaves.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { findPipelineVersion, listPipelineVersions, type VersionHead } from '../store/pipelines/pipeline-versions.ts'
import type { PipelineRow } from '../store/schema/schema.ts'
import type { AuthorizePipeline } from './pipeline-use.ts'
import { putPipeline, type Precondition } from './pipelines.ts'
import { contentOf, readVersionContent, type VersionContent } from './version-content.ts'

interface VersionPage {
  readonly items: PipelineVersion[]
  readonly next?: string
}

/** Lists versions, newest first. Throws `not-found`. */
export async function listVersionPage(
  app: App,
  name: string,
  { cursor: before, limit }: { readonly cursor?: number | undefined; readonly limit: number },
): Promise<VersionPage> {
  const row = await requirePipeline(app, name)
  const stored = await listPipelineVersions(app.store.query, row.id, { before, limit })
  const isUnversioned = before === undefined && stored[0]?.version !== row.revision
  const heads = [...(isUnversioned ? [headOf(row)] : []), ...stored].slice(0, limit)
  const last = heads.at(-1)
  return {
    items: heads.map((head) => toVersion(row, head)),
    ...(heads.length === limit && last !== undefined && { next: String(last.version) }),
  }
}

/** Returns the head of a version that a server of an earlier version wrote. */
function headOf({ id, account_id, revision, updated_at }: PipelineRow): VersionHead {
  return { pipeline_id: id, version: revision, account_id, bytes: 0, changed_by: null, message: null, created_at: updated_at }
}

function toVersion(row: PipelineRow, head: VersionHead): PipelineVersion {
  return {
    version: head.version,
    createdAt: head.created_at,
    current: head.version === row.revision,
    ...present({ changedBy: head.changed_by, message: head.message }),
  }
}

async function requirePipeline(app: App, name: string): Promise<PipelineRow> {
  return requireFound(await findPipeline(app.store.query, app.accountId, name), `pipeline "${name}"`)
}

/** Returns a version with its document and settings. Throws `not-found`. */
export async function showVersion(app: App, name: string, version: number): Promise<PipelineVersionContent> {
  return readVersion(app, await requirePipeline(app, name), version)
}

async function readVersion(app: App, row: PipelineRow, version: number): Promise<PipelineVersionContent> {
  const stored = await findPipelineVersion(app.store.query, row.id, version)
  if (stored !== undefined) return { ...toVersion(row, stored), ...readVersionContent(stored) }
  if (version === row.revision) return { ...toVersion(row, headOf(row)), ...contentOf(row, () => row.revision) }
  throw fault('not-found', {
    message: `The version ${version} of the pipeline "${row.name}" does not exist or is no longer kept.`,
    hint: `List the versions with \`windlass get pipelines ${row.name} --history\`.`,
  })
}

/** Compares a version with another one, by default with the stored one before it. Throws `not-found`. */
export async function diffVersions(
  app: App,
  name: string,
  { version, other }: { readonly version: number; readonly other: number | undefined },
): Promise<PipelineDiff> {
  const row = await requirePipeline(app, name)
  const after = await readVersion(app, row, version)
  const from = other ?? (await listPipelineVersions(app.store.query, row.id, { before: version, limit: 1 }))[0]?.version
  const before = from === undefined ? undefined : await readVersion(app, row, from)
  const labels = { before: from === undefined ? '/dev/null' : `version ${from}`, after: `version ${version}` }
  return {
    to: version,
    document: unifiedDiff(before?.document ?? '', after.document, labels),
    changes: diffLeaves(settingsOf(before), settingsOf(after)),
    ...defined({ from }),
  }
}

/** Returns what a version has besides its document. */
function settingsOf(content: VersionContent | undefined): unknown {
  if (content === undefined) return {}
  const { name, variables, contexts, runtime, concurrency, branchConcurrency, triggerConcurrency, priority, settings } = content
  const values = variables.map(({ key, value, setIn }): [string, string] => [
    key,
    setIn === undefined ? value : `${value} (set in version ${setIn})`,
  ])
  return {
    name,
    contexts,
    priority,
    settings,
    ...(values.length > 0 && { variables: Object.fromEntries(values) }),
    ...defined({ runtime, concurrency, branchConcurrency, triggerConcurrency }),
  }
}

export interface Restore {
  readonly version: number
  readonly precondition: Precondition
  readonly authorize: AuthorizePipeline
  readonly by: string
}

/**
 * Writes the content of a version again, with the name that the pipeline had. Encrypted variables keep the values that they have now. Throws `not-found`,
 * `conflict` if the pipeline was changed or lacks such a variable, and the faults of `putPipeline`.
 */
export async function restoreVersion(app: App, name: string, restore: Restore): Promise<Pipeline> {
  const row = await requirePipeline(app, name)
  const { version } = restore
  const content = await readVersion(app, row, version)
  requireSecrets(row, content)
  const { pipeline } = await putPipeline(app, {
    // The name can change between the read and the write.
    name: row.id,
    input: { ...content, variables: content.variables.map(({ key, value, encrypted }) => ({ key, value, encrypted })) },
    precondition: restore.precondition,
    authorize: restore.authorize,
    change: { by: restore.by, message: `restores version ${version}` },
  })
  return pipeline
}

/** Throws `conflict` if the pipeline no longer has the value of an encrypted variable of the version. */
function requireSecrets(row: PipelineRow, { version, variables }: PipelineVersionContent): void {
  const there = new Set(contentOf(row, () => 0).variables.flatMap(({ key, encrypted }) => (encrypted ? [key] : [])))
  const missing = variables.filter(({ key, encrypted }) => encrypted && !there.has(key)).map(({ key }) => key)
  if (missing.length === 0) return
  throw fault('conflict', {
    message: `Version ${version} has encrypted variables that the pipeline no longer has, and their values are not kept: ${missing.slice(0, 10).join(', ')}.`,
    hint: 'Add these variables to the pipeline, then restore the version.',
  })
}
