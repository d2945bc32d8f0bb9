import { Fault, fault, isFault, type Problem } from '@windlass/kit/faults'
import { compile, hasErrors } from '@windlass/pipeline'
import { AgentInput, Pipeline, PipelineInput, type Client } from '@windlass/protocol'
import { createAgent, createOne, getOne, putOne } from '../api.ts'
import type { Invocation } from '../command.ts'
import { formatProblem } from '../format/problems.ts'
import { readInput, sourcesRead } from '../input-files.ts'
import { readDocuments, type Wanted } from '../resources/documents.ts'
import type { Printer } from '../printer.ts'
import { withKind, type Kind } from '../resources/kinds.ts'
import { openSession } from '../session.ts'

interface ApplyOptions {
  readonly file: readonly string[]
  readonly name: string | undefined
  readonly runtime: string | undefined
}

/** `apply` and `create` of files. All documents are read before the first is sent; they are sent in their order. */
export async function applyDocuments(
  { options, out, settings }: Invocation<ApplyOptions>,
  verb: 'apply' | 'create' | 'replace',
): Promise<void> {
  if (options.file.length === 0)
    throw fault('usage', { message: 'Which document?', hint: `Name a file: windlass ${verb} -f FILE.` })
  const wanted = options.file.flatMap((path) => readDocuments(readInput(path), options))
  if (options.name !== undefined && wanted.length > 1)
    throw fault('usage', { message: '--name goes with one document.', hint: 'Write metadata.name in each document instead.' })
  for (const item of wanted) checkPipeline(item, out)
  const { client } = openSession(settings)
  for (const item of wanted) {
    const done = await place(item, () => send(client, item, { verb, out }))
    out.line(`${item.kind.slice(0, -1)}/${item.name} ${done}`)
  }
}

/** A stored document that cannot run helps nobody: it is refused before anything is sent. Warnings are told. */
function checkPipeline({ kind, name, body, file, firstLine }: Wanted, out: Printer): void {
  if (kind !== 'pipelines') return
  const { problems } = compile({ text: PipelineInput.parse(body).document, file })
  const placed = problems.map((problem): Problem => ({ ...problem, line: problem.line + firstLine - 1 }))
  if (hasErrors(problems))
    throw fault('pipeline-invalid', { message: `pipeline '${name}' in ${file} does not compile.`, problems: placed })
  for (const problem of placed) for (const line of formatProblem(problem, sourcesRead(), out.stderr.style)) out.note(line)
}

interface Sending {
  readonly verb: 'apply' | 'create' | 'replace'
  readonly out: Printer
}

function send(client: Client, wanted: Wanted, { verb, out }: Sending): Promise<string> {
  const { kind: kindName, name, body } = wanted
  return withKind(kindName, async (kind) => {
    const exists = verb !== 'create' && (await isThere(client, kind, name))
    if (exists) {
      tellAccount(await putOne(client, kind, { name, body }), wanted, out)
      return verb === 'replace' ? 'replaced' : 'configured'
    }
    if (verb === 'replace')
      throw fault('not-found', {
        message: `There is no ${kind.singular} '${name}' to replace.`,
        hint: 'Make it with `windlass create -f FILE`.',
      })
    if (kindName === 'agents') showToken(out, await createAgent(client, AgentInput.parse(body)))
    else tellAccount(await createOne(client, kind, body), wanted, out)
    return 'created'
  })
}

/** What only the server knows is wrong with a pipeline: that its account lacks something. The pipeline is stored all the same. */
function tellAccount(answer: unknown, { kind, body, file, firstLine }: Wanted, out: Printer): void {
  if (kind !== 'pipelines') return
  const known = new Set(compile({ text: PipelineInput.parse(body).document, file }).problems.map(({ message }) => message))
  for (const problem of Pipeline.safeParse(answer).data?.problems ?? []) {
    if (known.has(problem.message)) continue
    const placed: Problem = { ...problem, file, ...(problem.line !== undefined && { line: problem.line + firstLine - 1 }) }
    for (const line of formatProblem(placed, sourcesRead(), out.stderr.style)) out.note(line)
  }
}

async function isThere<T>(client: Client, kind: Kind<T>, name: string): Promise<boolean> {
  try {
    await getOne(client, kind, name)
    return true
  } catch (error) {
    if (isFault(error, 'not-found')) return false
    throw error
  }
}

function showToken(out: Printer, { name, token }: { name: string; token: string }): void {
  out.note(`The token of agent ${name}, shown only now: ${token}`)
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
