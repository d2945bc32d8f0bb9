/**
 * `node bench/main.ts [--json FILE] [NAME...]`: measures every line, or the lines whose name starts with a NAME, prints a table, and writes JSON
 * (default `.windlass/bench.json`). A line whose real part is missing is named and counted as not measured. Exit code 1 if a line failed.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { bundlePrograms } from './config.ts'
import { MissingPartError, reachesGoal, type Row } from './row.ts'
import { toTable } from './table.ts'

interface Report {
  readonly date: string
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly memoryGiB: number
    readonly kernel: string
    readonly node: string
  }
  /** One-minute load average before and after. */
  readonly load: readonly [number, number]
  readonly rows: readonly Row[]
  readonly missing: readonly { readonly line: string; readonly why: string }[]
  readonly broken: readonly { readonly line: string; readonly why: string }[]
}

bundlePrograms()
const { LINES } = await import('./lines/index.ts')
const { values, positionals } = parseArgs({
  options: { json: { type: 'string', default: '.windlass/bench.json' } },
  allowPositionals: true,
})
const chosen = LINES.filter(({ name }) => positionals.length === 0 || positionals.some((wanted) => name.startsWith(wanted)))
if (chosen.length === 0) {
  console.error(`no such line; there are: ${LINES.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

const loadBefore = loadavg()[0] ?? 0
const rows: Row[] = []
const missing: Report['missing'][number][] = []
const broken: Report['broken'][number][] = []
for (const { name, measure } of chosen) {
  const startedAt = performance.now()
  try {
    rows.push(...(await measure()))
    console.error(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    if (error instanceof MissingPartError) missing.push({ line: name, why })
    else broken.push({ line: name, why })
    console.error(`${name}: ${error instanceof MissingPartError ? 'NOT MEASURED' : 'BROKE'}: ${why}`)
  }
}
const [cpu] = cpus()
const report: Report = {
  date: new Date().toISOString(),
  machine: {
    cpu: cpu?.model ?? '',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
  },
  load: [loadBefore, loadavg()[0] ?? 0],
  rows,
  missing,
  broken,
}
await mkdir(dirname(values.json), { recursive: true })
await writeFile(values.json, `${JSON.stringify(report, undefined, 2)}\n`)
const { machine } = report
console.log(
  `${report.date}, ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Linux ${machine.kernel}, Node ${machine.node}`,
)
console.log(`load ${report.load.map((load) => load.toFixed(2)).join(' -> ')}\n`)
console.log(toTable(rows))
const missed = rows.filter((row) => reachesGoal(row) === false).map(({ name }) => name)
console.log(`\ngoals missed: ${missed.length === 0 ? 'none' : missed.join(', ')}`)
for (const { line, why } of missing) console.log(`NOT MEASURED ${line}: ${why}`)
for (const { line, why } of broken) console.log(`BROKE ${line}: ${why}`)
process.exit(broken.length > 0 ? 1 : 0)
