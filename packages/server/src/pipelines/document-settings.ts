import type { App } from '../app.ts'
import { mayBePipeline, type WrittenSettings } from './settings.ts'

export interface DocumentSettings {
  /** Undefined for an inline document, or one with errors. */
  readonly written?: WrittenSettings | undefined
  /** The text to store: without the values of encrypted variables. */
  readonly masked: string
}

/** Reads the settings of a document. Throws the same faults as `maskDocument` and `DocumentPool.read`. */
export async function readDocumentSettings(app: App, text: string, file: string): Promise<DocumentSettings> {
  if (!mayBePipeline(text)) return { masked: text }
  return { masked: text, ...(await app.documentPool.read('settings', { text, file }, text)) }
}
