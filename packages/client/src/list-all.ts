const PAGE_SIZE = 100

export interface PageOptions {
  readonly query: { readonly limit: number; readonly cursor: string | undefined }
}

interface Page<T> {
  readonly items: readonly T[]
  readonly next?: string | undefined
}

/** Returns the first `limit` resources of a paged list, in the order of the server: `listAll((page) => client.images.list(page))`. */
export async function listAll<T>(list: (options: PageOptions) => Promise<Page<T>>, limit = Infinity): Promise<T[]> {
  const items: T[] = []
  let cursor: string | undefined
  do {
    const answer = await list({ query: { limit: Math.min(PAGE_SIZE, limit - items.length), cursor } })
    items.push(...answer.items)
    cursor = answer.next
  } while (cursor !== undefined && items.length < limit)
  return items
}
