/** Lists in pages, as public clients read them: `edges { node cursor } pageInfo { … }`. */
import { fault } from '@windlass/kit'
import { z } from 'zod'

/** Longest page, and the length of a page whose length is not given. */
export const MAX_SLICE = 500

const Count = z.int().min(0).max(MAX_SLICE).nullish()
const Cursor = z.string().max(1_000).nullish()

export const Pagination = z.object({ after: Cursor, before: Cursor, first: Count, last: Count }).nullish()
type Pagination = z.output<typeof Pagination>

export interface Slice<T> {
  readonly edges: readonly { readonly node: T; readonly cursor: string }[]
  readonly pageInfo: {
    readonly startCursor: string | undefined
    readonly endCursor: string | undefined
    readonly hasNextPage: boolean
    readonly hasPrevPage: boolean
  }
}

/** Returns a page of items. `keyOf` returns what tells them apart. Throws `request-invalid` for a cursor that no item has. */
export function toSlice<T>(items: readonly T[], keyOf: (item: T) => string, pagination?: Pagination): Slice<T> {
  const { after, before, first, last } = pagination ?? {}
  const edges = items.map((node) => ({ node, cursor: Buffer.from(keyOf(node)).toString('base64url') }))
  // Public clients send an empty cursor for the first page.
  const placeOf = (cursor: string): number => {
    const at = edges.findIndex((edge) => edge.cursor === cursor)
    if (at >= 0) return at
    throw fault('request-invalid', {
      message: 'The cursor does not belong to this list, or its item is gone.',
      hint: 'Begin with the first page.',
    })
  }
  let from = after ? placeOf(after) + 1 : 0
  let to = before ? Math.max(from, placeOf(before)) : edges.length
  if (first !== undefined && first !== null) to = Math.min(to, from + first)
  if (last !== undefined && last !== null) from = Math.max(from, to - last)
  to = Math.min(to, from + MAX_SLICE)
  const shown = edges.slice(from, to)
  return {
    edges: shown,
    pageInfo: {
      startCursor: shown[0]?.cursor,
      endCursor: shown.at(-1)?.cursor,
      hasNextPage: to < edges.length,
      hasPrevPage: from > 0,
    },
  }
}
