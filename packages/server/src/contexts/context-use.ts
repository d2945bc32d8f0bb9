/** Which pipelines use a context. */
import type { Context } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { findContext } from '../store/account/contexts.ts'
import { listIdsNaming, listPipelinesById } from '../store/account/pipelines.ts'
import type { PipelineRow } from '../store/schema.ts'
import { toContext } from './context-data.ts'

const MAX_NAMES = 100
/** Pipelines, and bytes of their texts, that are in memory at once. */
const PART = 500
const PART_BYTES = 8_388_608
const Names = z.array(z.string())

/** Returns a context with the pipelines that name it. Throws `not-found`. */
export async function showContext(app: App, name: string): Promise<Context> {
  const { accountId, store } = app
  const row = requireFound(await findContext(store.query, accountId, name), `context "${name}"`)
  const users: string[] = []
  for await (const pipeline of readPipelinesNaming(app, row.name)) if (isUser(pipeline, row.name)) users.push(pipeline.name)
  return { ...toContext(row), usedBy: { total: users.length, pipelines: users.slice(0, MAX_NAMES) } }
}

/** Reads the pipelines whose texts contain a name, by name. Texts can have 1 MiB each, so only a part of them is in memory. */
async function* readPipelinesNaming({ accountId, store }: App, name: string): AsyncGenerator<PipelineRow> {
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
  return Names.parse(JSON.parse(contexts)).includes(name) || namesWord(document, name) || namesWord(settings, name)
}

/**
 * Whether a text has the name as a whole value of YAML or JSON, after a colon, a dash or a bracket. Documents are not compiled for this, so a text of a
 * command that looks like such a value counts too: a deletion rather warns once too often. Takes linear time, because any author of a pipeline writes
 * documents that viewers of contexts let the server search.
 */
export function namesWord(text: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  return new RegExp(`[:,[-]\\s*["']?${escaped}["']?\\s*(?:[,\\]}#]|$)`, 'm').test(text)
}
