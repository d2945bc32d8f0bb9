/**
 * Checks the documentation: every page below docs/ is in an index, every relative link and anchor in a Markdown file leads somewhere, every path
 * of docs/ in code, comments and messages exists, and no text looks like a tag of HTML. Prints each violation and exits with 1.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const INDEX = 'docs/README.md'
/** Files with paths of docs/ that are test data. */
const FIXTURES: readonly string[] = ['packages/engine/src/image-build/dockerignore.test.ts', 'scripts/check-docs.test.ts']
/** `docs/...` relative to the repository, or `<folder of docs>/<page>.md` relative to docs/. */
const MENTION = /(?<![\w/.@-])(?:docs\/[\w./-]*\w|(?:guides|runner|operate|reference|development)\/[\w./-]*\w\.md)(?:#[\w-]+)?/g

/** The text of each file by its path in the repository. */
export type Files = ReadonlyMap<string, string>

interface Reference {
  readonly line: number
  readonly target: string
}

/** Returns the lines of a Markdown text; those of code blocks are empty. */
function proseOf(markdown: string): string[] {
  let fence: string | undefined
  return markdown.split('\n').map((line) => {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1]
    if (mark === undefined) return fence === undefined ? line : ''
    if (fence === undefined) fence = mark
    else if (mark.startsWith(fence)) fence = undefined
    return ''
  })
}

/** Returns the targets of the links in a Markdown text that do not leave the repository. */
export function linksOf(markdown: string): Reference[] {
  return proseOf(markdown).flatMap((text, index) => {
    const plain = text.replace(/`[^`]*`/g, '')
    const found = [...plain.matchAll(/\]\(\s*<?([^)\s>]+)/g), ...plain.matchAll(/^\s*\[[^\]]+\]:\s*(\S+)/g)]
    return found.map(([, target = '']) => ({ line: index + 1, target })).filter(({ target }) => !/^(?:[a-z]+:|\/\/)/.test(target))
  })
}

interface Heading {
  readonly level: number
  readonly title: string
  readonly anchor: string
}

/** Returns the headings of a Markdown text with the anchors that a forge gives them. */
export function headingsOf(markdown: string): Heading[] {
  const anchors = new Set<string>()
  return proseOf(markdown).flatMap((line) => {
    const [, marks = '', title] = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line) ?? []
    if (title === undefined) return []
    const slug = title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`
    anchors.add(anchor)
    return [{ level: marks.length, title, anchor }]
  })
}

/** Returns the paths of docs/ that a text mentions, relative to the repository. */
export function mentionsOf(text: string): Reference[] {
  return text.split('\n').flatMap((content, index) =>
    [...content.matchAll(MENTION)].map(([mention]) => ({
      line: index + 1,
      target: mention.startsWith('docs/') ? mention : `docs/${mention}`,
    })),
  )
}

/** Returns what is wrong with a path and anchor, or undefined. A decision can be named by its number: `docs/development/adr/0001`. */
function problemOf(target: string, files: Files): string | undefined {
  const [path = '', anchor] = target.split('#')
  const text = files.get(path)
  if (text === undefined) {
    const prefix = /\/\d{4}$/.test(path) ? `${path}-` : `${path.replace(/\/$/, '')}/`
    return [...files.keys()].some((name) => name.startsWith(prefix)) || path === '.' ? undefined : `${path} does not exist`
  }
  if (anchor === undefined || !path.endsWith('.md')) return undefined
  if (headingsOf(text).some((heading) => heading.anchor === anchor)) return undefined
  return `${path} has no heading for #${anchor}`
}

/** Returns the path that a link of a page leads to. */
function resolveLink(page: string, target: string): string {
  const [path = '', anchor] = target.split('#')
  const full = path === '' ? page : posix.join(posix.dirname(page), path)
  return anchor === undefined ? full : `${full}#${anchor}`
}

/** Returns the pages below docs/ that no index lists; pictures are no pages. An index is docs/README.md, or a README.md that an index links to. */
export function unlistedPages(files: Files): string[] {
  const listed = new Set([INDEX])
  for (const page of listed) {
    if (!page.endsWith('/README.md')) continue
    for (const { target } of linksOf(files.get(page) ?? '')) listed.add(resolveLink(page, target).replace(/#.*/, ''))
  }
  return [...files.keys()].filter((path) => path.startsWith('docs/') && !path.startsWith('docs/images/') && !listed.has(path))
}

/** Returns text in angle brackets outside of code, which a browser does not show. */
function tagsOf(markdown: string): Reference[] {
  return proseOf(markdown).flatMap((text, index) => {
    const plain = text.replace(/`[^`]*`|<!--.*?-->/g, '')
    return [...plain.matchAll(/(?<!\\)<\/?[a-zA-Z][^>]*>/g)].map(([target]) => ({ line: index + 1, target }))
  })
}

/** Returns the violations in all files, each with its file and line. */
export function findViolations(files: Files): string[] {
  const found = unlistedPages(files).map((path) => `${path}: no index lists this page; add it to ${INDEX}`)
  for (const [path, text] of files) {
    if (FIXTURES.includes(path)) continue
    const links = path.endsWith('.md') ? linksOf(text) : []
    const references = [
      ...links.map(({ line, target }) => ({ line, target: resolveLink(path, target) })),
      ...mentionsOf(path.endsWith('.md') ? text.replace(/\]\([^)]*\)/g, '') : text),
    ]
    for (const { line, target } of references) {
      const problem = problemOf(target, files)
      if (problem !== undefined) found.push(`${path}:${line}: ${problem}`)
    }
    const tags = path.startsWith('docs/') && path.endsWith('.md') ? tagsOf(text) : []
    for (const { line, target } of tags) found.push(`${path}:${line}: a browser does not show ${target}; put it into backticks`)
  }
  return found
}

/** Reads the files of the repository that git does not ignore. Binary files have an empty text. */
function readFiles(): Files {
  const names = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  const paths = names.split('\n').filter((path) => path !== '' && existsSync(join(root, path)))
  return new Map(
    paths.map((path) => {
      const text = readFileSync(join(root, path), 'utf8')
      return [path, text.includes('\0') ? '' : text]
    }),
  )
}

function main(): void {
  const files = readFiles()
  const found = findViolations(files)
  for (const line of found) console.error(line)
  if (found.length > 0) process.exit(1)
  console.log(
    `documentation: ${[...files.keys()].filter((path) => path.startsWith('docs/')).length} pages are listed, and their links work`,
  )
}

if (import.meta.main) main()
