/** Which pipelines and triggers use a context. */
import type { Context } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { findContext } from '../store/account/contexts.ts'
import { listIdsNaming, listPipelinesById } from '../store/pipelines/pipelines.ts'
import type { PipelineRow } from '../store/schema/schema.ts'
import { listTriggersNaming } from '../store/triggers/naming.ts'
import { toContext } from './context-data.ts'

const MAX_NAMES = 100
/** Pipelines, and bytes of their texts, that are in memory at once. */
const PART = 500
const PART_BYTES = 8_388_608
const Names = z.array(z.string())
const TriggerContexts = z.object({ context: z.string().optional(), contexts: Names.default([]) })

/** Returns a context with the pipelines and triggers that name it. Throws `not-found`. */
export async function showContext(app: App, name: string): Promise<Context> {
  const { accountId, store } = app
  const row = requireFound(await findContext(store.query, accountId, name), `context "${name}"`)
  const pipelines: string[] = []
  for await (const pipeline of readPipelinesNaming(app, row.name)) if (isUser(pipeline, row.name)) pipelines.push(pipeline.name)
  const triggers = await triggersWith(app, row.name)
  const total = pipelines.length + triggers.length
  return {
    ...toContext(row),
    usedBy: { total, pipelines: pipelines.slice(0, MAX_NAMES), triggers: triggers.slice(0, MAX_NAMES) },
  }
}

/** Reads the pipelines whose texts contain a name, by name. Texts can have 1 MiB each, so only a part of them is in memory. */
export async function* readPipelinesNaming({ accountId, store }: App, name: string): AsyncGenerator<PipelineRow> {
  const ids = await listIdsNaming(store.query, accountId, name)
  for (let at = 0; at < ids.length;) {
    const part = ids.slice(at, at + PART)
    const rows = await listPipelinesById(store.query, accountId, { ids: part, maxBytes: PART_BYTES })
    yield* rows
    // Pipelines that were deleted in the meantime are missing.
    const last = rows.at(-1)
    at += last === undefined ? part.length : part.indexOf(last.id) + 1
  }
}

function isUser({ contexts, document, settings }: PipelineRow, name: string): boolean {
  return Names.parse(JSON.parse(contexts)).includes(name) || namesValue(document, name) || namesValue(settings, name)
}

/** Triggers of documents are counted with the pipeline of the document. */
async function triggersWith({ accountId, store }: App, name: string): Promise<string[]> {
  const rows = await listTriggersNaming(store.query, accountId, name)
  const users = rows.filter(({ spec }) => {
    const { context, contexts } = TriggerContexts.parse(JSON.parse(spec))
    return context === name || contexts.includes(name)
  })
  return users.map((trigger) => `${trigger.pipeline}#${trigger.name}`)
}

/**
 * Returns true if a text has the name as a whole value of YAML or JSON, after a colon, a dash, a comma or a bracket. Documents are not compiled for this, so
 * a text of a command that looks like such a value counts too: a warning before a deletion may come once too often. Takes linear time, because any author
 * of a pipeline writes documents that viewers of contexts let the server search.
 */
export function namesValue(text: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  return new RegExp(`(?:[,[]\\s*["']?|:\\s+["']?|:["']|-\\s+["']?)${escaped}["']?\\s*(?:[,\\]}#]|$)`, 'm').test(text)
}
