/** The report of a run: its seed, the faults that took effect, the violations. A run without enough faults does not count. */
import type { ChaosResult } from './run.ts'

const MOST_LINES = 40

export function report(name: string, { history, violations, crashes, landed, seconds }: ChaosResult): string {
  const counts = Object.entries(landed)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${what} ${count}`)
  const lines = violations
    .slice(0, MOST_LINES)
    .map(({ invariant, buildId, message }) => `  ${invariant} ${buildId ?? '-'} ${message}`)
  const ends = crashes.map((crash) => `  ${crash}`)
  return [
    `${name}: seed ${history.seed}, ${seconds} s; ${counts.join(', ')}; violations: ${violations.length}`,
    ...lines,
    ...ends,
  ].join('\n')
}

/** Kinds of faults that hit a live target less often than required. Empty if the run counts. */
export function missedFaults({ landed }: ChaosResult, least: Readonly<Record<string, number>> = {}): string[] {
  return Object.entries(least)
    .filter(([what, count]) => (landed[what] ?? 0) < count)
    .map(([what, count]) => `${what}: ${landed[what] ?? 0} of at least ${count}`)
}

/** Figures of one run: faults that took effect by name, and losses of builds. */
export interface Row {
  readonly name: string
  readonly seconds: number
  readonly violations: number
  /** Attempts that were lost, by any harm. */
  readonly lost: number
  readonly [what: string]: number | string
}

/** Number of lost attempts of a run. Each of them has a harm, or invariant 16 is violated. */
export function lostFor({ history }: ChaosResult): number {
  return history.builds.flatMap(({ attempts }) => attempts).filter(({ result }) => result === 'lost').length
}

const COLUMNS: Readonly<Record<string, (row: Row) => number>> = {
  seconds: ({ seconds }) => seconds,
  builds: (row) => count(row, /^builds$/),
  kills: (row) => count(row, /^killed /),
  freezes: (row) => count(row, /^(froze |outage: (server|database) frozen)/),
  outages: (row) => count(row, /^outage: .*(away|read-only)$/),
  'seconds of outage': (row) => count(row, /^outage seconds$/),
  'cut, lost or repeated calls': (row) => count(row, /^(drops|stalls|lostCalls|cutReplies|repeated)$/),
  'attempts lost to a harm': ({ lost }) => lost,
  'builds that nobody harmed': (row) => count(row, /^unharmed$/),
  'broken promises': ({ violations }) => violations,
}

function count(row: Row, names: RegExp): number {
  const hits = Object.entries(row).filter(([name]) => names.test(name))
  return hits.reduce((sum, [, value]) => sum + (typeof value === 'number' ? value : 0), 0)
}

/** Returns a Markdown table with one row for each kind of run, and a total. */
export function toTable(rows: readonly Row[]): string {
  const names = [...new Set(rows.map(({ name }) => name))]
  const line = (name: string, own: readonly Row[]): string => {
    const cells = Object.values(COLUMNS).map((cell) => Math.round(own.reduce((sum, row) => sum + cell(row), 0)))
    return `| ${[name, ...cells].join(' | ')} |`
  }
  const head = ['run', ...Object.keys(COLUMNS)]
  const lines = names.map((name) =>
    line(
      name,
      rows.filter((row) => row.name === name),
    ),
  )
  return [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...lines, line('all', rows)].join('\n')
}
