/** Adds the versions of pipelines. */
import type { App } from '../app.ts'
import { listPipelinesOfRuntime, savePipeline } from '../store/pipelines/pipelines.ts'
import { findPipelineVersion, insertPipelineVersion } from '../store/pipelines/pipeline-versions.ts'
import type { PipelineRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import { contentOf, readVersionContent, settingVersions, type VersionContent } from './version-content.ts'

/** Who changes a pipeline, and why. */
export interface Change {
  readonly by: string
  readonly message?: string | undefined
}

/** Adds the version of a changed pipeline, and the one before if a server of an earlier version wrote it. */
export async function addVersion(
  app: App,
  tx: Tx,
  { before, after, change }: { readonly before: PipelineRow | undefined; readonly after: PipelineRow; readonly change: Change },
): Promise<void> {
  const kept = before && (await keepUnversioned(app, tx, before))
  const content = contentOf(after, settingVersions(app.vault, { before, after, kept }))
  await insertVersion(tx, after, { content, changedBy: change.by, message: change.message ?? null })
}

/** Returns the content of the current version, which is added if a server of an earlier version wrote the pipeline. */
async function keepUnversioned(app: App, tx: Tx, row: PipelineRow): Promise<VersionContent> {
  const stored = await findPipelineVersion(tx.query, row.id, row.revision)
  if (stored !== undefined) return readVersionContent(stored)
  const content = contentOf(row, () => row.revision)
  await insertVersion(tx, row, { content, changedBy: null, message: null })
  return content
}

interface NewVersion {
  readonly content: VersionContent
  readonly changedBy: string | null
  readonly message: string | null
}

async function insertVersion(tx: Tx, row: PipelineRow, { content, changedBy, message }: NewVersion): Promise<void> {
  const text = JSON.stringify(content)
  await insertPipelineVersion(tx, {
    pipeline_id: row.id,
    version: row.revision,
    account_id: row.account_id,
    content: text,
    bytes: Buffer.byteLength(text),
    changed_by: changedBy,
    message,
    created_at: row.updated_at,
  })
}

/** Removes a deleted runtime from the pipelines that use it, so that they run on the default one. */
export async function unpinPipelines(
  app: App,
  tx: Tx,
  { runtime, by }: { readonly runtime: string; readonly by: string },
): Promise<void> {
  for (const before of await listPipelinesOfRuntime(tx, app.accountId, runtime)) {
    const after = { ...before, runtime: null, revision: before.revision + 1, updated_at: app.clock.now() }
    await savePipeline(tx, after)
    await addVersion(app, tx, { before, after, change: { by, message: `The runtime "${runtime}" was deleted.` } })
  }
}
