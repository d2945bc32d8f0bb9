/** Which pipelines and triggers use a context. */
import type { Context } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { findContext } from '../store/account/contexts.ts'
import { listPipelinesNaming, NAMING_PAGE } from '../store/account/pipelines.ts'
import { listTriggersNaming } from '../store/triggers/naming.ts'
import { toContext } from './context-data.ts'

const MAX_NAMES = 100
const Names = z.array(z.string())
const TriggerContexts = z.object({ context: z.string().optional(), contexts: Names.default([]) })

/** Returns a context with the pipelines and triggers that name it. Throws `not-found`. */
export async function showContext(app: App, name: string): Promise<Context> {
  const { accountId, store } = app
  const row = requireFound(await findContext(store.query, accountId, name), `context "${name}"`)
  const pipelines = await pipelinesWith(app, row.name)
  const triggers = await triggersWith(app, row.name)
  const total = pipelines.length + triggers.length
  return {
    ...toContext(row),
    usedBy: { total, pipelines: pipelines.slice(0, MAX_NAMES), triggers: triggers.slice(0, MAX_NAMES) },
  }
}

async function pipelinesWith({ accountId, store }: App, name: string): Promise<string[]> {
  const users: string[] = []
  for (let after = ''; ; ) {
    const rows = await listPipelinesNaming(store.query, { accountId, name, after })
    for (const { name: pipeline, contexts, document, settings } of rows)
      if (Names.parse(JSON.parse(contexts)).includes(name) || namesValue(document, name) || namesValue(settings, name))
        users.push(pipeline)
    const last = rows.at(-1)
    if (last === undefined || rows.length < NAMING_PAGE) return users
    after = last.name
  }
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
 * a text of a command that looks like such a value counts too: a warning before a deletion may come once too often.
 */
export function namesValue(text: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  return new RegExp(`(?:[,[]\\s*["']?|:\\s+["']?|:["']|-\\s+["']?)${escaped}["']?\\s*(?:[,\\]}#]|$)`, 'm').test(text)
}
