import type { Annotations } from '@windlass/protocol'
import { getAnnotations, putAnnotations, removeAnnotation } from '../api.ts'
import { readChanges } from '../changes.ts'
import type { Invocation } from '../command.ts'
import { alignColumns } from '../format/columns.ts'
import { printValue } from '../format/output.ts'
import type { Printer } from '../printer.ts'
import { openSession } from '../session.ts'

interface AnnotateOptions {
  readonly display: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** `annotate ENTITY NAME CHANGE...`. */
export async function annotate({ args, options, out, settings }: Invocation<AnnotateOptions>): Promise<void> {
  const [entity = '', id = '', ...words] = args
  const { set, unset } = readChanges(words)
  const { client } = openSession(settings)
  for (const name of unset) await removeAnnotation(client, { entity, id }, name)
  await print(out, await putAnnotations(client, { entity, id }, { values: set, display: options.display }), options.output)
}

/** `get annotations ENTITY NAME`. */
export async function showAnnotations({
  args,
  options,
  out,
  settings,
}: Invocation<Pick<AnnotateOptions, 'output'>>): Promise<void> {
  const [entity = '', id = ''] = args
  await print(out, await getAnnotations(openSession(settings).client, { entity, id }), options.output)
}

async function print(out: Printer, annotations: Annotations, format: 'json' | 'yaml' | undefined): Promise<void> {
  if (format !== undefined) return printValue(out, annotations, format)
  const rows = Object.entries(annotations.values).map(([name, value]) => [
    name,
    String(value),
    name === annotations.display ? '(shown in lists)' : '',
  ])
  if (rows.length === 0) return out.note('No annotations.')
  for (const line of alignColumns(rows)) out.line(line)
}
