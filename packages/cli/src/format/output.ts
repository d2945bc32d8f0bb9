/** Prints things in the format that was asked for. */
import { systemClock } from '@windlass/kit'
import type { Printer } from '../printer.ts'
import type { Kind } from '../resources/kinds.ts'
import type { OutputFormat } from '../output-formats.ts'
import { alignColumns } from './columns.ts'

export interface OutputOptions<T> {
  readonly kind: Kind<T>
  readonly format: OutputFormat | undefined
  readonly headers: boolean
}

/** Prints a list. As JSON or YAML it is a list also when it holds one thing or none. */
export async function printList<T>(out: Printer, items: readonly T[], options: OutputOptions<T>): Promise<void> {
  const { kind, format } = options
  if (format === 'json' || format === 'yaml') return printValue(out, items, format)
  if (format === 'name') {
    for (const item of items) out.line(`${kind.singular}/${kind.nameOf(item)}`)
    return
  }
  if (items.length === 0) return out.note(`No ${kind.name} found.`)
  for (const line of toTable(items, { ...options, out })) out.line(line)
}

function toTable<T>(items: readonly T[], { kind, format, headers, out }: OutputOptions<T> & { out: Printer }): string[] {
  const columns = Object.entries({ ...kind.columns, ...(format === 'wide' && kind.wide) })
  const look = { now: systemClock.now(), style: out.stdout.style }
  const rows = items.map((item) => columns.map(([, cell]) => cell(item, look)))
  return alignColumns(headers ? [columns.map(([head]) => out.stdout.style.dim(head)), ...rows] : rows)
}

/** Prints one value as JSON or YAML. */
export async function printValue(out: Printer, value: unknown, format: 'json' | 'yaml'): Promise<void> {
  if (format === 'json') return out.line(JSON.stringify(value, null, 2))
  const { stringify } = await import('yaml')
  out.stdout.write(stringify(value, { lineWidth: 0 }))
}
