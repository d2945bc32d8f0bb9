/** Lists in the formats of kubectl: a table with selectable columns, names, ids, JSON or YAML; with `--watch` repeatedly. */
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { Printer } from '../printer.ts'
import type { Columns } from '../resources/kinds.ts'
import { alignColumns } from './columns.ts'
import { printValue } from './output.ts'

export interface Listing {
  readonly output: 'json' | 'yaml' | 'wide' | 'name' | 'id' | undefined
  readonly noHeaders: boolean
  readonly selectColumns: string | undefined
  readonly watch: boolean
}

export interface Table<T> {
  /** Singular name of the kind. */
  readonly kind: string
  readonly list: () => Promise<readonly T[]>
  readonly nameOf: (item: T) => string
  readonly columns: Columns<T>
  readonly wide: Columns<T>
}

const WATCH_MS = 3_000
/** Number of consecutive faults that ends a watch. */
const WATCH_FAULTS = 10

/** Prints the list; with `watch` until the process is interrupted. Throws `usage` for an unknown column. */
export async function printTable<T extends { readonly id: string }>(
  out: Printer,
  options: Listing,
  table: Table<T>,
): Promise<void> {
  await printOnce(out, options, { table, items: await table.list() })
  for (let faults = 0; options.watch;) {
    await systemClock.sleep(WATCH_MS)
    try {
      const items = await table.list()
      faults = 0
      await printOnce(out, { ...options, noHeaders: true }, { table, items })
    } catch (error) {
      faults += 1
      if (faults > WATCH_FAULTS) throw error
    }
  }
}

async function printOnce<T extends { readonly id: string }>(
  out: Printer,
  { output, noHeaders, selectColumns }: Listing,
  { table, items }: { table: Table<T>; items: readonly T[] },
): Promise<void> {
  if (output === 'json' || output === 'yaml') return printValue(out, items, output)
  if (output === 'name' || output === 'id') {
    for (const item of items) out.line(output === 'id' ? item.id : `${table.kind}/${table.nameOf(item)}`)
    return
  }
  if (items.length === 0) return out.note('no available resources')
  const columns = chooseColumns(
    { ...table.columns, ...(output === 'wide' && table.wide) },
    { ...table.columns, ...table.wide },
    selectColumns,
  )
  const renderContext = { now: systemClock.now(), style: out.stdout.style }
  const rows = items.map((item) => columns.map(([, cell]) => cell(item, renderContext)))
  const head = columns.map(([name]) => out.stdout.style.dim(name))
  for (const line of alignColumns(noHeaders ? rows : [head, ...rows])) out.line(line)
}

type Column<T> = readonly [string, Columns<T>[string]]

function chooseColumns<T>(shown: Columns<T>, all: Columns<T>, selected: string | undefined): readonly Column<T>[] {
  if (selected === undefined) return Object.entries(shown)
  return selected.split(',').map((given): Column<T> => {
    const name = given.trim().toUpperCase().replaceAll(/[-_]/g, ' ')
    const found = Object.entries(all).find(([column]) => column === name)
    if (found !== undefined) return found
    throw fault('usage', { message: `The column "${given}" does not exist.`, hint: `Use one of ${Object.keys(all).join(', ')}.` })
  })
}
