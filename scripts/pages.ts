/** Parts of generated pages. */
import { headingsOf } from './check-docs.ts'

export const NOTE = '<!-- Written by `npm run gen`; edit the source it names instead. -->'

/** Returns a Markdown table. Escapes `|` in cells. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

/** Adds links to the sections of a page before the first one. */
export function withContents(page: string): string {
  const links = headingsOf(page).flatMap(({ level, title, anchor }) => (level === 2 ? [`[${title}](#${anchor})`] : []))
  return page.replace('\n## ', () => `\nOn this page: ${links.join(' · ')}\n\n## `)
}
