/** Checks of the text as it is written, which the tree no longer shows. */
import type { Report } from './report.ts'

/**
 * Lines that begin with tabs. They break YAML in most places (`broken`: the document did not parse), which is then told in place of what the
 * parser makes of it; inside block scalars they are worth a warning when spaces stand beside them.
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
      return report.error('mixed-indentation', range, message, { hint: 'Indent with spaces alone.' })
    }
    report.warning('mixed-indentation', range, message, { hint: 'Indent with spaces alone.' })
  }
}

/** After `- >-`, lines indented deeper than the first keep their line breaks, which surprises. */
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
            hint: 'Indent all lines of the block alike, or use |-.',
          },
        )
        inside = false
      }
    }
  }
}
