import type { Annotations } from '@windlass/protocol'
import { readChanges } from '../../input/changes.ts'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'

interface AnnotateOptions {
  readonly display: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `annotate ENTITY NAME CHANGE...`. */
export async function annotate({ args, options, out, settings }: Invocation<AnnotateOptions>): Promise<void> {
  const [entity = '', id = '', ...changes] = args
  const { set, unset } = readChanges(changes)
  const { client } = openSession(settings)
  for (const name of unset) await client.annotations.delete(entity, id, name)
  const annotations = await client.annotations.put(entity, id, { values: set, display: options.display })
  await print(out, annotations, options.output)
}

/** Runs `get annotations ENTITY NAME`. */
export async function showAnnotations({
  args,
  options,
  out,
  settings,
}: Invocation<Pick<AnnotateOptions, 'output'>>): Promise<void> {
  const [entity = '', id = ''] = args
  await print(out, await openSession(settings).client.annotations.get(entity, id), options.output)
}

async function print(out: Printer, annotations: Annotations, format: 'json' | 'yaml' | undefined): Promise<void> {
  if (format !== undefined) return printValue(out, annotations, format)
  const rows = Object.entries(annotations.values).map(([name, value]) => [
    name,
    String(value),
    name === annotations.display ? '(shown in lists)' : '',
  ])
  if (rows.length === 0) return out.note('No annotations found.')
  for (const line of alignColumns(rows)) out.line(line)
}
