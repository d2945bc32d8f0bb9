import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { formatProblems } from '../test/documents.ts'
import { compile } from './compile/compile.ts'
import { catalogOf, toCatalogEntry } from './typed/catalog.ts'

const DOCS = new URL('../../../docs/', import.meta.url)

/** Returns the YAML blocks of a page, each with the line where it begins. */
function blocksOf(page: string): { text: string; line: number }[] {
  const lines = page.split('\n')
  return lines.flatMap((line, start) => {
    if (line !== '```yaml') return []
    const end = lines.indexOf('```', start)
    return [{ text: `${lines.slice(start + 1, end).join('\n')}\n`, line: start + 2 }]
  })
}

const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.md') && !path.startsWith('development/adr'),
)

describe('every pipeline in the documentation compiles without problems', () => {
  test.each(pages.toSorted())('%s', (path) => {
    const blocks = blocksOf(readFileSync(new URL(path, DOCS), 'utf8'))
    // A page can use the step types whose manifests it contains.
    const shown = blocks.flatMap(({ text }) =>
      /^kind: step-type$/m.test(text) ? (toCatalogEntry({ text, file: path }) ?? []) : [],
    )
    for (const { text, line } of blocks.filter((block) => block.text.startsWith('version:') && !/^kind:/m.test(block.text))) {
      const { problems } = compile(
        { text, file: `${path}:${line}` },
        { ...(shown.length > 0 && { stepTypes: catalogOf(shown) }) },
      )
      expect({ line, problems: formatProblems(problems) }).toEqual({ line, problems: [] })
    }
  })
})
