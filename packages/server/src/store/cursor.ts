/** Cursors of lists: the place of the last item of a page. Callers send them back as they are. */
import { fault, type Fault } from '@windlass/kit'
import { parseJson } from '@windlass/kit/json'
import { z } from 'zod'

/** A text in a cursor. PostgreSQL stores no NUL. */
export const CursorText = z.string().regex(/^\P{Cc}*$/u)

/** Returns the cursor of a place: the values by which the list is sorted. */
export function writeCursor(place: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** Returns the place of a cursor. Throws `request-invalid` for one of another list. */
export function readCursor<S extends z.ZodType>(text: string, shape: S): z.output<S> {
  const read = shape.safeParse(parseJson(Buffer.from(text, 'base64url').toString()))
  if (read.success) return read.data
  throw foreignCursor()
}

export function foreignCursor(): Fault {
  return fault('request-invalid', {
    message: 'The cursor does not belong to this list.',
    hint: 'Use `next` of the previous page, or omit the cursor.',
  })
}
