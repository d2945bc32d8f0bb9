/** Prints resources in the requested format. */
import { systemClock } from '@windlass/kit'
import { textFor } from '../follow/line-splitter.ts'
import type { Printer } from '../printer.ts'
import type { Kind } from '../resources/kinds.ts'
import type { OutputFormat } from '../output-formats.ts'
import { alignColumns } from './columns.ts'

export interface OutputOptions<T> {
  readonly kind: Kind<T>
  readonly format: OutputFormat | undefined
  readonly headers: boolean
}

/** Prints a list. JSON and YAML print a list even for one resource or none. */
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
  const renderContext = { now: systemClock.now(), style: out.stdout.style }
  const rows = items.map((item) => columns.map(([, cell]) => cell(item, renderContext)))
  return alignColumns(headers ? [columns.map(([head]) => out.stdout.style.dim(head)), ...rows] : rows)
}

/** Prints one value as JSON or YAML. */
export async function printValue(out: Printer, value: unknown, format: 'json' | 'yaml'): Promise<void> {
  if (format === 'json') return out.line(JSON.stringify(value, null, 2))
  const { stringify } = await import('yaml')
  // YAML may contain the control characters U+0080 to U+009F.
  out.stdout.write(textFor(out.stdout, stringify(value, { lineWidth: 0 })))
}
