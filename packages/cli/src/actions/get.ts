import { fault } from '@windlass/kit/faults'
import { nearest } from '@windlass/plan'
import { deleteOne, getOne, listAll, listVersions } from '../api.ts'
import type { Invocation } from '../command.ts'
import { printList, printValue } from '../format/output.ts'
import type { OutputFormat } from '../output-formats.ts'
import { withKind, type Kind } from '../resources/kinds.ts'
import { openSession, type Session } from '../session.ts'

interface GetOptions {
  readonly output: OutputFormat | undefined
  readonly noHeaders: boolean
  readonly limit: number | undefined
  readonly pipeline: string | undefined
  readonly status: string | undefined
  readonly branch: string | undefined
  readonly annotation: readonly string[]
  readonly versions: boolean
}

const BUILDS_SHOWN = 20

/** `get KIND [NAME]`. */
export async function getThings({ args, options, out, settings }: Invocation<GetOptions>): Promise<void> {
  const [kindName = '', name] = args
  await withKind(kindName, async (kind) => {
    const session = openSession(settings)
    const print = { kind, format: options.output, headers: !options.noHeaders }
    if (name === undefined) {
      const { pipeline, status, branch, annotation } = options
      const limit = options.limit ?? (kind.name === 'builds' ? BUILDS_SHOWN : undefined)
      const query = kind.name === 'builds' ? { pipeline, status, branch, annotation } : {}
      return printList(out, await listAll(session.client, kind, { query, limit }), print)
    }
    if (options.versions) return printList(out, await listVersions(session.client, kind, name), print)
    const item = await findOne(session, kind, name)
    const manifest = options.output === 'yaml' ? manifestOf(item) : undefined
    if (manifest !== undefined) return out.stdout.write(manifest)
    if (options.output === 'json' || options.output === 'yaml') return printValue(out, item, options.output)
    return printList(out, [item], print)
  })
}

/** A step type as YAML is its manifest, so that it can be changed and given back. */
function manifestOf(item: unknown): string | undefined {
  const found = typeof item === 'object' && item !== null && 'manifest' in item ? item.manifest : undefined
  return typeof found === 'string' ? `${found.trimEnd()}\n` : undefined
}

/** One thing by its name; a fault that it is not there names the nearest one that is. */
async function findOne<T>({ client }: Session, kind: Kind<T>, name: string): Promise<T> {
  try {
    return await getOne(client, kind, name)
  } catch (error) {
    throw await explainMissing(error, { client, kind, name })
  }
}

async function explainMissing<T>(
  error: unknown,
  { client, kind, name }: Pick<Session, 'client'> & { kind: Kind<T>; name: string },
): Promise<unknown> {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'not-found' || kind.name === 'builds') return error
  const names = (await listAll(client, kind, { limit: 500 })).map((item) => kind.nameOf(item))
  const near = nearest(name, names)
  return fault('not-found', {
    message: `There is no ${kind.singular} '${name}'.`,
    hint: near === undefined ? `List them with \`windlass get ${kind.name}\`.` : `Did you mean '${near}'?`,
  })
}

/** `delete KIND NAME`. */
export async function deleteThing({ args, out, settings }: Invocation<object>): Promise<void> {
  const [kindName = '', name = ''] = args
  await withKind(kindName, async (kind) => {
    if (kind.name === 'builds')
      throw fault('usage', { message: 'Builds are not deleted by hand.', hint: 'They go when their retention is over.' })
    const { client } = openSession(settings)
    try {
      await deleteOne(client, kind, name)
    } catch (error) {
      throw await explainMissing(error, { client, kind, name })
    }
    out.line(`${kind.singular}/${name} deleted`)
  })
}
