/** Shapes and limits of lists of documents, which public clients read a numbered page at a time. */
import { setImmediate } from 'node:timers/promises'
import { isFault } from '@windlass/kit'
import { z } from 'zod'

export const Texts = z.union([z.string().max(300), z.array(z.string().max(300)).max(1000)]).optional()
export const Range = z.object({
  limit: z.coerce.number().int().min(0).max(10_000).default(25),
  offset: z.coerce.number().int().min(0).default(0),
})
export const Document = z.looseObject({})
export const Page = z.object({ docs: z.array(Document), count: z.int() })

/**
 * Limits of a page of documents: their number, their stored text, and the JSON text that they are converted to. A page ends early at a limit. Clients
 * continue at the next offset.
 */
const PAGE_DOCUMENTS = 300
export const PAGE_BYTES = 4 * 1_048_576
const PAGE_CHARS = 4 * 1_048_576

export function sliceOf<T>(all: readonly T[], { limit, offset }: { readonly limit: number; readonly offset: number }): T[] {
  return all.slice(offset, offset + Math.min(limit, PAGE_DOCUMENTS))
}

type Doc = Record<string, unknown>

/** Converts resources, in order, until the page is full or the key has used its processing time. A page has at least one document, or throws. */
export async function fillPage<T>(items: Iterable<T>, convert: (item: T) => Promise<Doc>): Promise<Doc[]> {
  const docs: Doc[] = []
  let chars = 0
  for (const item of items) {
    // Neither SQLite nor the conversion of a small document waits for anything, so that the whole page would block the event loop.
    await setImmediate()
    try {
      const doc = await convert(item)
      chars += JSON.stringify(doc).length
      if (chars > PAGE_CHARS && docs.length > 0) break
      docs.push(doc)
    } catch (error) {
      if (isFault(error, 'rate-limited') && docs.length > 0) break
      throw error
    }
  }
  return docs
}
