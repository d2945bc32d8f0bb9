/** Stored compositions (pipeline language 2.7): contexts of type `yaml`, by their names. */
import type { CompileOptions } from '@windlass/pipeline'
import { z } from 'zod'
import type { App } from '../app.ts'
import { listContexts } from '../store/contexts.ts'
import { toContext } from './context-data.ts'

type Compositions = NonNullable<CompileOptions['compositions']>

const Document = z.record(z.string(), z.json())

/** The stored compositions that a document may mean: those whose names stand in it. Most documents cost no query. */
export async function readCompositions(app: App, document: string): Promise<Compositions> {
  if (!document.includes('composition')) return {}
  const rows = await listContexts(app.store.query, app.accountId)
  const meant = rows.filter(({ type, name }) => type === 'yaml' && document.includes(name))
  return Object.fromEntries(meant.map((row) => [row.name, Document.parse(toContext(row).data)]))
}
