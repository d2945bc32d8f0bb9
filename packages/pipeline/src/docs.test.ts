import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { told } from '../test/documents.ts'
import { compile } from './compile.ts'

const DOCS = new URL('../../../docs/', import.meta.url)

/** Whole documents among the YAML blocks of a page, each with the line where it begins. */
function documentsOf(page: string): { text: string; line: number }[] {
  const lines = page.split('\n')
  return lines.flatMap((line, start) => {
    if (line !== '```yaml') return []
    const end = lines.indexOf('```', start)
    const text = `${lines.slice(start + 1, end).join('\n')}\n`
    return text.startsWith('version:') && !/^kind:/m.test(text) ? [{ text, line: start + 2 }] : []
  })
}

const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.md') && !path.startsWith('adr'),
)

describe('every pipeline in the documentation compiles without a word', () => {
  test.each(pages.toSorted())('%s', (path) => {
    for (const { text, line } of documentsOf(readFileSync(new URL(path, DOCS), 'utf8'))) {
      const { problems } = compile({ text, file: `${path}:${line}` })
      expect({ line, problems: told(problems) }).toEqual({ line, problems: [] })
    }
  })
})
