import { fault } from '@windlass/kit'
import type { App } from '../app.ts'
import { hasSecrets, mayHaveSecrets } from './mask-document.ts'
import { mayBePipeline, type WrittenSettings } from './settings.ts'

export interface DocumentSettings {
  /** Undefined for an inline document, or one with errors. */
  readonly written?: WrittenSettings | undefined
  /** The text to store: without the values of encrypted variables. */
  readonly masked: string
}

/**
 * Reads the settings of a document that is to be stored. Throws `pipeline-invalid` for a document with errors if it may have values of encrypted variables,
 * and the same faults as `maskDocument` and `DocumentPool.read`.
 */
export async function readDocumentSettings(app: App, text: string, file: string): Promise<DocumentSettings> {
  const settings = await readWrittenSettings(app, text, file)
  if (settings.written === undefined && mayBePipeline(text) && mayHaveSecrets(text)) await requireNoSecrets(app, text, file)
  return settings
}

/** Reads the settings of a document, which may have errors. Throws the same faults as `maskDocument` and `DocumentPool.read`. */
export async function readWrittenSettings(app: App, text: string, file: string): Promise<DocumentSettings> {
  if (!mayBePipeline(text)) return { masked: text }
  return { masked: text, ...(await app.documentPool.read('settings', { text, file }, text)) }
}

/** A document with errors has no settings, so its variables cannot be sealed. */
async function requireNoSecrets(app: App, text: string, file: string): Promise<void> {
  const { value } = await app.documentPool.read('value', { text, file }, text)
  if (value === undefined ? !/encrypted/.test(text) : !hasSecrets(value)) return
  throw fault('pipeline-invalid', {
    message: 'The document has errors and is not stored, because it has encrypted variables.',
    hint: 'Run `windlass validate` to see the errors.',
  })
}
