/** Lists as kubectl prints them: a table of chosen columns, names, ids, JSON or YAML; once, or again and again. */
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
  /** Singular. */
  readonly kind: string
  readonly list: () => Promise<readonly T[]>
  readonly nameOf: (item: T) => string
  readonly columns: Columns<T>
  readonly wide: Columns<T>
}

const WATCH_MS = 3_000
/** So many faults in a row end a watch. */
const WATCH_FAULTS = 10

/** Prints the list, with `watch` until the process is interrupted. Throws `usage` for a column that does not exist. */
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
  const look = { now: systemClock.now(), style: out.stdout.style }
  const rows = items.map((item) => columns.map(([, cell]) => cell(item, look)))
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
    throw fault('usage', { message: `There is no column ${given}.`, hint: `The columns are ${Object.keys(all).join(', ')}.` })
  })
}
