/** Reads what a page tells its reader to type: blocks of commands and files, in their order. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const docs = join(import.meta.dirname, '../../../docs')

/** A block of commands, or a file if it has a path: a block below a line that has only the path and a colon. */
export interface PageBlock {
  /** The heading above it. */
  readonly heading: string
  readonly path: string | undefined
  readonly text: string
}

/** Returns the blocks of the section with this title and of those below it. Throws if there is none. */
export async function readBlocks(page: string, title: string): Promise<PageBlock[]> {
  const text = await readFile(join(docs, page), 'utf8')
  const [, section] = new RegExp(`^## ${title}\\n([\\s\\S]*?)(?=^## |(?![\\s\\S]))`, 'm').exec(text) ?? []
  if (section === undefined) throw new Error(`${page} has no section "${title}"`)
  let heading = ''
  const parts = section.matchAll(/^### (.*)$|(?:^`([^`\n]+)`:\n\n)?^```\w*\n([\s\S]*?)^```$/gm)
  return [...parts].flatMap(([, found, path, block]) => {
    if (found !== undefined) heading = found
    return block === undefined ? [] : [{ heading, path, text: block }]
  })
}
