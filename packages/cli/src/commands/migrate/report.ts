/** The report: one entry for each document, as lines for a reader or as JSON. */
import { plural } from '@windlass/plan'
import type { Printer } from '../../printer.ts'
import { printable } from '../../format/printable.ts'
import type { Left, Moved, Remark } from './judge/verdict.ts'
import type { Written } from './target/target.ts'

export interface ReportEntry {
  readonly kind: string
  readonly name: string
  /** File, or path of the API. */
  readonly from: string
  readonly outcome: 'moved' | 'moved-with-remarks' | 'left'
  /** Absent for a resource that is left. */
  readonly done?: Written
  /** Remarks about a resource that moved, or the reasons why it is left. */
  readonly remarks: readonly Remark[]
}

/** Largest number of lines about one resource. */
const MAX_SHOWN = 100

export function movedEntry({ from, resource: { kind, name }, remarks }: Moved, done: Written): ReportEntry {
  return { kind, name, from, outcome: remarks.length === 0 ? 'moved' : 'moved-with-remarks', done, remarks }
}

export function leftEntry({ kind, name, from, reasons }: Left): ReportEntry {
  return { kind, name, from, outcome: 'left', remarks: reasons }
}

/** Prints an entry: what moved on standard output, remarks and what is left on standard error. */
export function printEntry(out: Printer, { kind, name, from, outcome, done, remarks }: ReportEntry, dryRun: boolean): void {
  const { style } = out.stderr
  const label = printable(name === '' ? kind : `${kind}/${name}`)
  if (outcome !== 'left') out.line(`${label} ${done}${dryRun && done !== 'unchanged' ? ' (dry run)' : ''}`)
  const mark = outcome === 'left' ? style.red('left:') : style.yellow('remark:')
  for (const { path, line, reason, action } of remarks.slice(0, MAX_SHOWN)) {
    const place = `${from}${line === undefined ? '' : `:${line}`}${path === '' ? '' : `: ${path}`}`
    out.note(`${mark} ${label}: ${printable(`${place}: ${reason}${action === '' ? '' : ` ${action}`}`)}`)
  }
  if (remarks.length > MAX_SHOWN) out.note(`${mark} ${label}: ${remarks.length - MAX_SHOWN} more, which -o json shows.`)
}

/** Prints how many resources moved, were there already, have remarks, and are left. */
export function printSummary(out: Printer, entries: readonly ReportEntry[], dryRun: boolean): void {
  const count = (outcome: ReportEntry['outcome']): number => entries.filter((entry) => entry.outcome === outcome).length
  const remarked = count('moved-with-remarks')
  const unchanged = entries.filter(({ done }) => done === 'unchanged').length
  const moved = `${plural(count('moved') + remarked - unchanged, 'resource')} ${dryRun ? 'can be moved' : 'moved'}`
  const same = unchanged === 0 ? '' : `, ${unchanged} unchanged`
  out.note(`${moved}${same} (${remarked} with remarks), ${count('left')} left.`)
}
