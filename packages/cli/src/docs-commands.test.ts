/** Every command line in the code blocks of our documentation is accepted by the command table. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readSettings, takeGlobalOptions } from './config.ts'
import { recordOutput } from '../test/recorded-output.ts'
import { parseCommandLine } from './program.ts'

const root = join(import.meta.dirname, '../../..')
const out = recordOutput()

/** Returns the command lines in the code blocks of a page, without prompt, comment, pipe and brackets of optional words. Skips lines of usage. */
function commandLines(page: string): string[] {
  const blocks = [...page.matchAll(/^\s*```.*\n([\s\S]*?)^\s*```/gm)].map(([, text = '']) => text.replace(/\\\n\s*/g, ' '))
  return blocks.flatMap((text) =>
    [...text.matchAll(/^(?:\$ )?(?:\.\/)?(windlass [a-z].*(?<!\[options\]))$/gm)].map(([, line = '']) =>
      line
        .replace(/\s+#.*$/, '')
        .replace(/\s+[|>&].*$/, '')
        .replaceAll(/[[\]…]/g, ''),
    ),
  )
}

/** Splits a line into words like a shell, as far as quotes. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'))
}

const paths = globSync(['README.md', 'docs/**/*.md'], { cwd: root }).filter((path) => !path.startsWith('docs/development/adr/'))
const pages = paths.toSorted().map((path) => ({ path, lines: commandLines(readFileSync(join(root, path), 'utf8')) }))

test.each(pages.filter(({ lines }) => lines.length > 0))('the commands on $path exist', async ({ lines }) => {
  for (const line of lines) {
    const { argv, globals } = takeGlobalOptions(wordsOf(line).slice(1))
    const parsed = parseCommandLine(argv, { out, settings: readSettings({ HOME: '/nowhere' }, globals) })
    await expect(
      parsed.then(() => 'accepted', String),
      line,
    ).resolves.toBe('accepted')
  }
})
