/** Which pipelines use a context. */
import type { Context } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { findContext } from '../store/account/contexts.ts'
import { listPipelinesNaming } from '../store/account/pipelines.ts'
import { toContext } from './context-data.ts'

const MAX_NAMES = 100
const Names = z.array(z.string())

/** Returns a context with the pipelines that name it. Throws `not-found`. */
export async function showContext(app: App, name: string): Promise<Context> {
  const { accountId, store } = app
  const row = requireFound(await findContext(store.query, accountId, name), `context "${name}"`)
  const found = await listPipelinesNaming(store.query, accountId, row.name)
  const users = found.filter(({ contexts, document, settings }) => {
    const isImported = Names.parse(JSON.parse(contexts)).includes(row.name)
    return isImported || namesWord(document, row.name) || namesWord(settings, row.name)
  })
  const pipelines = users.slice(0, MAX_NAMES).map((pipeline) => pipeline.name)
  return { ...toContext(row), usedBy: { total: users.length, pipelines } }
}

/**
 * Whether a text has the name as a whole value of YAML or JSON, after a colon, a dash or a bracket. Documents are not compiled for this, so a text of a
 * command that looks like such a value counts too: a deletion rather warns once too often.
 */
export function namesWord(text: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  return new RegExp(`(?:[:,[]|^\\s*-|-)\\s*["']?${escaped}["']?\\s*(?:[,\\]}#]|$)`, 'm').test(text)
}
