import { isRecord } from '@windlass/kit/json'
import type { App } from '../../app.ts'

/** Parses a stored document. Returns no fields if it has errors. Throws as `DocumentPool.read` does. */
export async function readMapping(app: App, text: string): Promise<Readonly<Record<string, unknown>>> {
  const { value } = await app.documentPool.read('value', { text, file: '' }, text)
  return isRecord(value) ? value : {}
}
