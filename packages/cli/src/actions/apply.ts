import { Fault, fault, isFault, type Problem } from '@windlass/kit/faults'
import type { Client } from '@windlass/protocol'
import { createOne, getOne, putOne } from '../api.ts'
import type { Invocation } from '../command.ts'
import { readInput } from '../input-files.ts'
import { readDocuments, type Wanted } from '../resources/documents.ts'
import { withKind } from '../resources/kinds.ts'
import { openSession } from '../session.ts'

interface ApplyOptions {
  readonly file: readonly string[]
  readonly name: string | undefined
  readonly runtime: string | undefined
}

/** `apply` and `create` of files. All documents are read before the first is sent; they are sent in their order. */
export async function applyDocuments(
  { options, out, settings }: Invocation<ApplyOptions>,
  verb: 'apply' | 'create',
): Promise<void> {
  if (options.file.length === 0)
    throw fault('usage', { message: 'Which document?', hint: `Name a file: windlass ${verb} -f FILE.` })
  const wanted = options.file.flatMap((path) => readDocuments(readInput(path), options))
  if (options.name !== undefined && wanted.length > 1)
    throw fault('usage', { message: '--name goes with one document.', hint: 'Write metadata.name in each document instead.' })
  const { client } = openSession(settings)
  for (const item of wanted) {
    const done = await place(item, () => send(client, item, verb))
    out.line(`${item.kind.slice(0, -1)}/${item.name} ${done}`)
  }
}

function send(client: Client, { kind: kindName, name, body }: Wanted, verb: 'apply' | 'create'): Promise<string> {
  return withKind(kindName, async (kind) => {
    if (verb === 'create') {
      await createOne(client, kind, body)
      return 'created'
    }
    const existed = await getOne(client, kind, name).then(
      () => true,
      (error: unknown) => {
        if (isFault(error, 'not-found')) return false
        throw error
      },
    )
    await putOne(client, kind, { name, body })
    return existed ? 'configured' : 'created'
  })
}

/** Problems that the server found in a document, at their places in the file. */
async function place<T>({ file, firstLine }: Wanted, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Fault) || error.details.problems === undefined) throw error
    const problems = error.details.problems.map((problem): Problem => ({
      ...problem,
      file,
      ...(problem.line !== undefined && { line: problem.line + firstLine - 1 }),
    }))
    throw fault(error.code, { ...error.details, message: `${file}: ${error.message}`, problems }, error)
  }
}
