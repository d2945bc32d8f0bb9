import { defined } from '@windlass/kit/defined'
import { Fault, fault, type Problem } from '@windlass/kit/faults'
import { compile, hasErrors } from '@windlass/pipeline'
import type { ApiClient } from '@windlass/client'
import {
  AgentInput,
  EnvironmentInput,
  Pipeline,
  PipelineInput,
  ProductInput,
  PromotionFlowInput,
  PromotionPolicyInput,
  PromotionTemplateInput,
} from '@windlass/protocol'
import type { z } from 'zod'
import type { Invocation } from '../../command.ts'
import { formatProblem } from '../../format/problems.ts'
import { readInput, sourcesRead } from '../../input/input-files.ts'
import { invalidFields, readDocuments, type ResourceInput } from '../../resources/documents.ts'
import type { Printer } from '../../printer.ts'
import { openSession, orUndefined } from '../../session/session.ts'

interface ApplyOptions {
  readonly file: readonly string[]
  readonly name: string | undefined
  readonly runtime: string | undefined
  readonly message: string | undefined
}

/** Runs `apply`, `create` and `replace`. Reads and checks all documents before it sends the first, and sends them in order. */
export async function applyDocuments(
  { options, out, settings }: Invocation<ApplyOptions>,
  verb: 'apply' | 'create' | 'replace',
): Promise<void> {
  if (options.file.length === 0)
    throw fault('usage', { message: 'No document was given.', hint: `Name a file: \`windlass ${verb} -f FILE\`.` })
  const wanted = options.file.flatMap((path) => readDocuments(readInput(path), options))
  if (options.name !== undefined && wanted.length > 1)
    throw fault('usage', {
      message: '--name applies to a single document.',
      hint: 'Write metadata.name in each document instead.',
    })
  if (options.message !== undefined && wanted.every(({ kind }) => kind !== 'pipelines'))
    throw fault('usage', { message: '--message applies to pipelines only.', hint: 'Omit --message.' })
  for (const item of wanted) checkPipeline(item, out)
  const { client } = openSession(settings)
  for (const item of wanted) {
    const done = await withPositions(item, () => send(client, item, { verb, message: options.message, out }))
    out.line(`${item.kind.slice(0, -1)}/${item.name} ${done}`)
  }
}

/** Throws `pipeline-invalid` before anything is sent if a pipeline does not compile. Prints warnings. */
function checkPipeline({ kind, name, body, file, firstLine }: ResourceInput, out: Printer): void {
  if (kind !== 'pipelines') return
  const { problems } = compile({ text: PipelineInput.parse(body).document, file })
  const placed = problems.map((problem): Problem => ({ ...problem, line: problem.line + firstLine - 1 }))
  if (hasErrors(problems))
    throw fault('pipeline-invalid', { message: `The pipeline "${name}" in ${file} does not compile.`, problems: placed })
  for (const problem of placed) for (const line of formatProblem(problem, sourcesRead(), out.stderr.style)) out.note(line)
}

interface Sending {
  readonly verb: 'apply' | 'create' | 'replace'
  readonly message: string | undefined
  readonly out: Printer
}

async function send(client: ApiClient, wanted: ResourceInput, { verb, message, out }: Sending): Promise<string> {
  const { kind, name, body } = wanted
  const calls = callsOf(client, wanted, message)
  const isUpdate = verb !== 'create' && (await exists(calls, name))
  if (isUpdate) {
    reportAccountProblems(await calls.put(name, body), wanted, out)
    return verb === 'replace' ? 'replaced' : 'configured'
  }
  if (verb === 'replace')
    throw fault('not-found', {
      message: `The ${kind.slice(0, -1)} "${name}" does not exist.`,
      hint: 'Create it with `windlass create -f FILE`.',
    })
  if (kind === 'agents') showToken(out, await client.agents.create(AgentInput.parse(body)))
  else reportAccountProblems(await calls.create(body), wanted, out)
  return 'created'
}

/** The calls for a document, whose body `readDocuments` has checked against the schema of its kind. */
interface DocumentCalls {
  get(name: string): Promise<unknown>
  put(name: string, body: unknown): Promise<unknown>
  create(body: unknown): Promise<unknown>
}

function callsOf(client: ApiClient, { kind, name }: ResourceInput, message: string | undefined): DocumentCalls {
  switch (kind) {
    case 'pipelines':
      return pipelineCalls(client, message)
    case 'step-types':
      return client.stepTypes
    case 'environments':
      return definitionCalls(client.environments, EnvironmentInput, name)
    case 'products':
      return definitionCalls(client.products, ProductInput, name)
    case 'promotion-templates':
      return definitionCalls(client.promotionTemplates, PromotionTemplateInput, name)
    case 'promotion-flows':
      return definitionCalls(client.promotionFlows, PromotionFlowInput, name)
    case 'promotion-policys':
      return definitionCalls(client.promotionPolicies, PromotionPolicyInput, name)
    default:
      return client[kind]
  }
}

interface Putting<B> {
  get(name: string): Promise<unknown>
  put(name: string, body: B): Promise<unknown>
}

/** A definition has no call of its own for its creation. */
function definitionCalls<S extends z.ZodType>({ get, put }: Putting<z.output<S>>, shape: S, name: string): DocumentCalls {
  return { get, put: (of, body) => put(of, shape.parse(body)), create: (body) => put(name, shape.parse(body)) }
}

function pipelineCalls(client: ApiClient, message: string | undefined): DocumentCalls {
  const { get, put, create } = client.pipelines
  const options = { query: defined({ message }) }
  return {
    get,
    put: (name, body) => put(name, PipelineInput.parse(body), options),
    create: (body) => create(PipelineInput.parse(body), options),
  }
}

/** Prints the problems of a stored pipeline that only the server finds, such as something that the account lacks. */
function reportAccountProblems(answer: unknown, { kind, body, file, firstLine }: ResourceInput, out: Printer): void {
  if (kind !== 'pipelines') return
  const known = new Set(compile({ text: PipelineInput.parse(body).document, file }).problems.map(({ message }) => message))
  for (const problem of Pipeline.safeParse(answer).data?.problems ?? []) {
    if (known.has(problem.message)) continue
    const placed: Problem = { ...problem, file, ...(problem.line !== undefined && { line: problem.line + firstLine - 1 }) }
    for (const line of formatProblem(placed, sourcesRead(), out.stderr.style)) out.note(line)
  }
}

async function exists(calls: DocumentCalls, name: string): Promise<boolean> {
  return (await orUndefined(calls.get(name))) !== undefined
}

function showToken(out: Printer, { name, token }: { name: string; token: string }): void {
  out.note(`Token of the agent ${name} (not shown again): ${token}`)
}

/** Runs `work` and maps the problems that the server finds to the file. Fields that the server refuses are an invalid document, as those that `apply` finds itself. */
async function withPositions<T>({ kind, name, file, firstLine }: ResourceInput, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Fault) || error.details.problems === undefined) throw error
    const problems = error.details.problems.map((problem): Problem => ({
      ...problem,
      file,
      line: (problem.line ?? 1) + firstLine - 1,
    }))
    if (error.code === 'request-invalid') throw fault('document-invalid', { ...invalidFields(kind, name, file), problems }, error)
    throw fault(error.code, { ...error.details, message: `${file}: ${error.message}`, problems }, error)
  }
}
