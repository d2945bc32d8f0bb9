/** Pages of rows with documents, for migrations that change documents. */

/** Rows per page, because documents are large. */
export const PAGE = 50

/** Calls `change` with the last id of the previous page until a page is not full. `change` returns the ids of its page. */
export async function forEachRow(change: (after: string) => Promise<readonly string[]>): Promise<void> {
  for (let ids = await change(''); ids.length === PAGE; ids = await change(ids.at(-1) ?? '')) continue
}

/** Most builds of a pipeline have the same document. */
export function cached(mask: (text: string) => string): (text: string) => string {
  let last: { readonly text: string; readonly masked: string } | undefined
  return (text) => {
    if (last?.text !== text) last = { text, masked: mask(text) }
    return last.masked
  }
}
