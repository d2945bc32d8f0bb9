/** The commands `get sys-re`, `patch sys-re` and `delete sys-re`: the base layers of runtime environments. */
import { fault } from '@windlass/kit/faults'
import type { RuntimeBase } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { printTable, type Listing } from '../../format/table.ts'
import type { Columns } from '../../resources/kinds.ts'
import { mergeTrees, type Tree } from '../../runner/values/read-values.ts'
import { openSession } from '../../session/session.ts'
import { readChange } from './action.ts'

interface GetOptions extends Listing {
  readonly extend: boolean | undefined
}

/** Prints one base layer or all of them. */
export async function getBases({ args, options, out, settings }: Invocation<GetOptions>): Promise<void> {
  const { client } = openSession(settings)
  const [name] = args
  const one = name === undefined ? undefined : await client.runtimeBases.get(name, { query: { merged: options.extend } })
  if (one !== undefined && (options.output === 'json' || options.output === 'yaml'))
    return printValue(out, toDocument(one), options.output)
  await printTable(out, options, {
    kind: 'system-runtime',
    list: async () =>
      (one === undefined ? (await client.runtimeBases.list()).items : [one]).map((item) => ({ ...item, id: item.name })),
    nameOf: ({ name: own }) => own,
    columns: COLUMNS,
    wide: {},
  })
}

const COLUMNS: Columns<RuntimeBase> = {
  NAME: ({ name }) => name,
  VERSION: ({ version }) => (version === 0 ? 'built in' : String(version)),
  EXTENDS: ({ spec }) => (Array.isArray(spec['extends']) ? spec['extends'].join(',') : ''),
  'LAST CHANGED BY': ({ changedBy }) => changedBy,
}

/** Returns the document that `get sys-re NAME -o yaml` prints and `patch sys-re` reads. */
function toDocument({ name, version, changedBy, spec }: RuntimeBase): Tree {
  return { version, metadata: { name, agent: false, changedBy }, ...spec }
}

interface PatchOptions {
  readonly file: string | undefined
  readonly extends: readonly string[]
}

/** Replaces a base layer. Throws `usage`, `document-invalid`, `not-found` without a file for a base layer that does not exist. */
export async function patchBase({ args, options, out, settings }: Invocation<PatchOptions>): Promise<void> {
  const { client } = openSession(settings)
  const change = options.file === undefined ? undefined : readChange(options.file, args[0])
  const name = change?.name ?? args[0]
  if (name === undefined)
    throw fault('usage', { message: 'No base layer was given.', hint: 'Run `windlass patch sys-re NAME -f FILE`.' })
  if (change === undefined && options.extends.length === 0)
    throw fault('usage', {
      message: 'No change was given.',
      hint: 'Name a file with -f, or a base layer to inherit from with --extends.',
    })
  const spec = change?.spec ?? (await client.runtimeBases.get(name)).spec
  const parents = options.extends.length > 0 ? { extends: options.extends } : {}
  await client.runtimeBases.put(name, { spec: mergeTrees(spec, parents) })
  out.line(`Base layer: "${name}" patched`)
}

export async function deleteBase({ args, out, settings }: Invocation<object>): Promise<void> {
  const [name = ''] = args
  await openSession(settings).client.runtimeBases.delete(name)
  out.line(`system-runtime/${name} deleted`)
}
