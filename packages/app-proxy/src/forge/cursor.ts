/** Cursors of lists of a forge: the parameters that its next page has and its first one does not. */
import { fault, parseJson } from '@windlass/kit'
import { z } from 'zod'

/** Parameters of pages of the supported forges. A cursor sets no others. */
const PARAMETERS: ReadonlySet<string> = new Set(['page', 'start', 'cursor', 'after', 'id_after', 'pagination', 'page_token'])
const MAX_CURSOR = 1_000

const Changes = z.record(z.string(), z.string().max(500))

/** Returns the cursor of the page `next` of the list that begins with `first`. */
export function toCursor(first: URL, next: URL): string {
  const changes = [...next.searchParams].filter(([name, value]) => PARAMETERS.has(name) && first.searchParams.get(name) !== value)
  return Buffer.from(JSON.stringify(Object.fromEntries(changes))).toString('base64url')
}

/** Returns the URL of the page of a cursor. Throws `request-invalid` for a text that is not a cursor. */
export function atCursor(first: URL, cursor: string | undefined): URL {
  if (cursor === undefined) return first
  const changes = cursor.length > MAX_CURSOR ? undefined : parseJson(Buffer.from(cursor, 'base64url').toString('utf8'))
  const parsed = Changes.safeParse(changes)
  if (!parsed.success || !Object.keys(parsed.data).every((name) => PARAMETERS.has(name)))
    throw fault('request-invalid', { message: 'The cursor is not valid.', hint: 'Use the `cursor` of the page before.' })
  const url = new URL(first)
  for (const [name, value] of Object.entries(parsed.data)) url.searchParams.set(name, value)
  return url
}
