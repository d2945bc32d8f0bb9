/**
 * Lists the rows of docs/development/features with the tests whose titles have their ids, and the rows without a test.
 * `node scripts/features.ts` prints counts per page and the uncovered ids; `--all` prints every row with its tests; `--markdown` writes the
 * state page docs/development/features/README.md. Exits 1 when a test names a row that does not exist.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { readCases } from '../e2e/conformance/case.ts'
import { GROUPS } from './testing/groups.ts'
import { filesOf } from './testing/needs.ts'

const root = resolve(import.meta.dirname, '..')

export interface Row {
  readonly id: string
  readonly feature: string
  readonly page: string
}

/** Returns the rows `| P001 | text |` of one page. */
export function readRows(markdown: string, page: string): Row[] {
  return [...markdown.matchAll(/^\| ([A-Z]\d{3}) \| (.*?) \|$/gm)].map((match) => ({
    id: match[1] ?? '',
    feature: match[2] ?? '',
    page,
  }))
}

/**
 * Row ids at the end of the titles of a test file: `test('... (P001, P002)')`, also in templates, titles of tables and the first cells of their rows.
 * Ids of scenarios (`A08`, `V10`, `C17`) may be among them.
 */
export function idsInTitles(text: string): { id: string; title: string }[] {
  const titles = text.matchAll(/[([]\s*(['"`])((?:\\.|(?!\1).)*)\1/gs)
  return [...titles].flatMap(([, , title = '']) => {
    const ids = /\(((?:[A-Z]-?\d{1,3}(?:-[A-Z]?\d{3})?(?:, )?)+)\)$/.exec(title)?.[1]
    return ids === undefined ? [] : expand(ids).map((id) => ({ id, title }))
  })
}

function expand(list: string): string[] {
  return [...list.matchAll(/([PRGOFNW])(\d{3})(?:-[PRGOFNW]?(\d{3}))?/g)].flatMap((match) => {
    const first = Number(match[2])
    const last = Number(match[3] ?? match[2])
    return Array.from({ length: last - first + 1 }, (_, n) => `${match[1]}${String(first + n).padStart(3, '0')}`)
  })
}

function testsById(): Map<string, string[]> {
  const tests = new Map<string, string[]>()
  const paths = globSync(['packages/**/*.test.ts', 'e2e/**/*.test.ts', 'scripts/*.test.ts'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  })
  for (const path of paths.toSorted()) {
    if (path.includes('node_modules') || path.startsWith('scripts/features')) continue
    for (const { id, title } of idsInTitles(readFileSync(join(root, path), 'utf8')))
      tests.set(id, [...(tests.get(id) ?? []), `${path}: ${title}`])
  }
  for (const { path, rows, title } of readCases())
    for (const id of rows) tests.set(id, [...(tests.get(id) ?? []), `e2e/conformance/cases/${path}: ${title}`])
  return tests
}

/** Returns the test files that only `make chaos` runs. */
function longFiles(): Set<string> {
  return new Set(GROUPS.filter(({ isLong }) => isLong === true).flatMap((group) => filesOf(group)))
}

function toMarkdown(rows: readonly Row[], tests: ReadonlyMap<string, string[]>): string {
  const long = longFiles()
  const isLong = (test: string): boolean => long.has(test.slice(0, test.indexOf(': ')))
  const names = (list: readonly Row[]): string => list.map(({ id }) => id).join(' ') || '–'
  const pages = [...new Set(rows.map(({ page }) => page))]
  const line = (page: string): string => {
    const all = rows.filter((row) => row.page === page)
    const shown = all.filter(({ id }) => tests.has(id))
    const rare = shown.filter(({ id }) => tests.get(id)?.every(isLong))
    return `| [${page}](${page}.md) | ${shown.length} of ${all.length} | ${names(rare)} | ${names(shown)} |`
  }
  return [
    '# Features',
    '',
    'Each page lists the rows of one area. A row counts as shown when a test title carries its id. Written by `npm run gen`.',
    '',
    '| area | shown by tests | only in `make chaos` | rows |',
    '|---|---|---|---|',
    ...pages.map(line),
    '',
  ].join('\n')
}

/** Returns the state page, for `scripts/gen.ts`. */
export function featurePage(): string {
  return toMarkdown(allRows(), testsById())
}

function allRows(): Row[] {
  const pages = globSync('docs/development/features/*.md', { cwd: root }).filter((path) => basename(path) !== 'README.md')
  return pages.toSorted().flatMap((path) => readRows(readFileSync(join(root, path), 'utf8'), basename(path, '.md')))
}

function main(): void {
  const rows = allRows()
  const tests = testsById()
  const known = new Set(rows.map(({ id }) => id))
  const unknown = [...tests.keys()].filter((id) => !known.has(id))
  if (process.argv.includes('--markdown'))
    writeFileSync(join(root, 'docs/development/features/README.md'), toMarkdown(rows, tests))
  if (process.argv.includes('--all'))
    for (const { id, feature } of rows) console.log([id, feature, ...(tests.get(id) ?? ['no test'])].join('\n    '))
  for (const page of new Set(rows.map((row) => row.page))) {
    const open = rows.filter((row) => row.page === page && !tests.has(row.id))
    const count = rows.filter((row) => row.page === page).length
    console.log(`${page}: ${count - open.length} of ${count} rows have a test; without: ${open.map(({ id }) => id).join(' ')}`)
  }
  if (unknown.length > 0) {
    console.error(`tests name rows that do not exist: ${unknown.join(' ')}`)
    process.exit(1)
  }
}

if (import.meta.main) main()
