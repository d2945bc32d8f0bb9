/** Checks of the source text for problems that the tree does not show. */
import type { Report } from './report.ts'

/**
 * Checks lines that begin with tabs. If the document did not parse (`broken`), the tab is reported instead of the resulting syntax errors. Inside
 * block scalars tabs are a warning if the indentation also contains spaces.
 */
export function checkIndentation(report: Report, broken: boolean): void {
  if (!report.source.text.includes('\t')) return
  for (const [index, line] of report.source.lines().entries()) {
    const indent = /^[ \t]*/.exec(line)?.[0] ?? ''
    const tab = indent.indexOf('\t')
    if (tab < 0 || line.trim() === '' || (!broken && !indent.includes(' '))) continue
    const start = report.source.lineStart(index + 1) + tab
    const range = { start, end: start + 1 }
    const message = 'Your YAML contains both spaces and tabs.'
    if (broken) {
      report.drop('yaml-syntax')
      return report.error('mixed-indentation', range, message, { hint: 'Indent with spaces only.' })
    }
    report.warning('mixed-indentation', range, message, { hint: 'Indent with spaces only.' })
  }
}

/** Warns about lines after `- >-` that are indented deeper than the first one: they keep their line breaks. */
export function checkFolded(report: Report): void {
  if (!report.source.text.includes('- >-')) return
  let first: number | undefined
  let inside = false
  for (const [index, line] of report.source.lines().entries()) {
    const indent = line.length - line.trimStart().length
    if (/^\s*- >-\s*$/.test(line)) {
      inside = true
      first = undefined
    } else if (inside && line.trim() !== '') {
      if (first !== undefined && (/^\s*- /.test(line) || indent < first)) inside = false
      else if (first === undefined) first = indent
      else if (indent > first) {
        const start = report.source.lineStart(index + 1)
        report.warning(
          'folded-indentation',
          { start, end: start + indent },
          "Your YAML contains invalid indentation after characters '>-'.",
          {
            hint: 'Indent all lines of the block equally, or use |-.',
          },
        )
        inside = false
      }
    }
  }
}
