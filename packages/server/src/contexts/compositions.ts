/** Stored compositions: contexts of type `yaml`, by name. */
import type { CompileOptions } from '@windlass/pipeline'
import { z } from 'zod'
import type { App } from '../app.ts'
import { listContexts } from '../store/account/contexts.ts'
import { toContext } from './context-data.ts'

type Compositions = NonNullable<CompileOptions['compositions']>

const Document = z.record(z.string(), z.json())

/** Returns the stored compositions whose names occur in the document. Documents without the word `composition` cost no query. */
export async function readCompositions(app: App, document: string): Promise<Compositions> {
  if (!document.includes('composition')) return {}
  const rows = await listContexts(app.store.query, app.accountId)
  const named = rows.filter(({ type, name }) => type === 'yaml' && document.includes(name))
  return Object.fromEntries(named.map((row) => [row.name, Document.parse(toContext(row).data)]))
}
