/** Lists and files of a forge for a user. */
import { FORGE_APIS, type Listing, type RepositoryPlace } from '@windlass/forges'
import { fault } from '@windlass/kit'
import { atCursor, toCursor } from './cursor.ts'
import type { ForgeSession } from './session.ts'

/** Pages of the forge that are read for one page of a search. */
const MAX_PAGES = 10
/** Maximum bytes of a file that is shown. */
const MAX_FILE_BYTES = 1_048_576

export interface ListPage<T> {
  readonly items: readonly T[]
  /** Of the next page; undefined for the last one. */
  readonly cursor?: string
}

/** Reads a page of a list. A search continues until a page has a match, up to ten pages, so a page can be empty and have a cursor. */
export async function readList<T>(session: ForgeSession, listing: Listing<T>, cursor: string | undefined): Promise<ListPage<T>> {
  const first = session.at(listing.path)
  let url = atCursor(first, cursor)
  for (let pages = 1; ; pages += 1) {
    const { items, next } = listing.read(await session.page(url))
    if (next === undefined) return { items }
    if (items.length > 0 || pages >= MAX_PAGES) return { items, cursor: toCursor(first, next) }
    url = next
  }
}

/** Returns the list of branches, which the server reads too. */
export function branchesOf({ integration }: ForgeSession, repo: string): Listing<{ name: string; revision: string }> {
  const { read, ...listing } = FORGE_APIS[integration.provider].branches(repo)
  return {
    ...listing,
    read(page) {
      const { items, ...rest } = read(page)
      return { ...rest, items: items.map(({ name, revision }) => ({ name, revision })) }
    },
  }
}

export interface ShownFile {
  readonly path: string
  /** Bytes. */
  readonly size: number
  readonly encoding: 'utf8' | 'base64'
  readonly content: string
}

/** Reads a file, by default of at most 1 MiB. Throws `not-found` if there is none at the path, and `file-too-large`. */
export async function readFile(session: ForgeSession, place: RepositoryPlace, maxBytes = MAX_FILE_BYTES): Promise<ShownFile> {
  const { path, read } = session.browser.file(place)
  // A file in JSON: base64, and what is around it.
  const answer = await session.bytes(session.at(path), 2 * maxBytes)
  const content = read(answer.bytes)
  if (content === undefined)
    throw fault('not-found', { message: `There is no file at "${place.path}".`, hint: 'Check the path. Links are not followed.' })
  if (content === 'too-large' || content.byteLength > maxBytes)
    throw fault('file-too-large', { message: `"${place.path}" is larger than ${maxBytes} bytes.` })
  const text = decode(content)
  return {
    path: place.path,
    size: content.byteLength,
    encoding: text === undefined ? 'base64' : 'utf8',
    content: text ?? Buffer.from(content).toString('base64'),
  }
}

/** Returns the text of bytes in UTF-8; undefined for others, which would change on the way. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
