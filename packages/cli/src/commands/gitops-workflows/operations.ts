/** Commands that submit, end and delete workflows. */
import type { GitopsRuntimeCalls } from '@windlass/client/gitops-runtime'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { formatDuration } from '@windlass/plan'
import { WorkflowManifest, type RuntimeWorkflow, type WorkflowParameter } from '@windlass/protocol'
import { parse } from 'yaml'
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { readInput } from '../../input/input-files.ts'
import type { Printer } from '../../printer.ts'
import { splitPair } from '../../runner/values/read-values.ts'
import { openRuntime } from '../gitops-repository/runtime-session.ts'
import type { Shown } from './show.ts'

const DEFAULT_WAIT_SECONDS = 3_600
const POLL_MS = 1_000

interface Waiting extends Shown {
  readonly wait: boolean
  readonly timeout: number | undefined
}

/** Runs `gitops workflow submit RUNTIME [TEMPLATE]`. */
export async function submitWorkflow({
  args,
  options,
  out,
  settings,
}: Invocation<Waiting & { readonly file: string | undefined; readonly parameter: readonly string[] }>): Promise<number | void> {
  const [runtime = '', template] = args
  const { file } = options
  if ((template === undefined) === (file === undefined))
    throw fault('usage', {
      message: template === undefined ? 'Nothing says what to submit.' : 'A template and a file exclude each other.',
      hint: 'Name a template, or a file with -f.',
    })
  const parameters = parametersOf(options.parameter)
  const manifest = file === undefined ? undefined : readManifest(file)
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const begun =
    manifest === undefined
      ? await calls.submitTemplate(template ?? '', { parameters })
      : await calls.submitWorkflow({ manifest, parameters })
  return finish({ calls, out, verb: 'submitted' }, begun, options)
}

/** Throws `file-not-found`, and `document-invalid` for something else than a workflow. */
function readManifest(file: string): WorkflowManifest {
  const { name, text } = readInput(file)
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    throw fault('document-invalid', { message: `${name} is not YAML with one document.` }, error)
  }
  const parsed = WorkflowManifest.safeParse(value)
  if (parsed.success) return parsed.data
  const [first] = parsed.error.issues
  throw fault('document-invalid', {
    message: `${name} is not a workflow of Argo Workflows: ${first?.path.join('.') ?? ''}: ${first?.message ?? ''}.`,
    hint: 'It needs apiVersion argoproj.io/v1alpha1, kind Workflow, metadata and spec.',
  })
}

function parametersOf(pairs: readonly string[]): WorkflowParameter[] {
  return pairs.map((pair) => {
    const [name, value] = splitPair(pair, '--parameter')
    return { name, value }
  })
}

/** Runs `gitops workflow retry RUNTIME NAME`. */
export async function retryWorkflow({ args, options, out, settings }: Invocation<Waiting>): Promise<number | void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  return finish({ calls, out, verb: 'retried' }, await calls.retryWorkflow(name), options)
}

/** Runs `gitops workflow resubmit RUNTIME NAME`. */
export async function resubmitWorkflow({
  args,
  options,
  out,
  settings,
}: Invocation<Waiting & { readonly parameter: readonly string[] }>): Promise<number | void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const begun = await calls.resubmitWorkflow(name, { parameters: parametersOf(options.parameter) })
  return finish({ calls, out, verb: 'submitted' }, begun, options)
}

/** Runs `gitops workflow stop RUNTIME NAME`. */
export async function stopWorkflow({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  return print(out, { verb: 'stopping' }, await calls.stopWorkflow(name), options)
}

/** Runs `gitops workflow terminate RUNTIME NAME`. */
export async function terminateWorkflow({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  return print(out, { verb: 'terminating' }, await calls.terminateWorkflow(name), options)
}

/** Runs `gitops workflow delete RUNTIME NAME`. */
export async function deleteWorkflow({
  args,
  options,
  out,
  settings,
}: Invocation<{
  readonly runtimeUrl: string | undefined
  readonly force: boolean
  readonly yes: boolean
}>): Promise<void> {
  const [runtime = '', name = ''] = args
  if (!options.yes)
    throw fault('usage', {
      message: `The workflow "${name}" would be deleted with its pods and their logs.`,
      hint: 'Add --yes to delete it.',
    })
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  await calls.deleteWorkflow(name, { query: { force: options.force } })
  out.line(`workflow/${name} deleted`)
}

async function print(
  out: Printer,
  { verb }: { readonly verb: string },
  workflow: RuntimeWorkflow,
  { output }: Pick<Shown, 'output'>,
): Promise<void> {
  if (output === undefined) out.line(`workflow/${workflow.name} ${verb}`)
  else await printValue(out, workflow, output)
}

interface Finishing {
  readonly calls: GitopsRuntimeCalls
  readonly out: Printer
  /** What has happened. */
  readonly verb: string
}

/** Prints what has begun. With `--wait`, waits for its end, and resolves to 1 if it does not succeed. */
async function finish(
  { calls, out, verb }: Finishing,
  begun: RuntimeWorkflow,
  { wait, timeout = DEFAULT_WAIT_SECONDS, output }: Waiting,
): Promise<number | void> {
  if (output === undefined) out.line(`workflow/${begun.name} ${verb}`)
  const workflow = wait ? await untilDone(calls, begun, timeout) : begun
  if (output !== undefined) await printValue(out, workflow, output)
  else if (wait) {
    const { name, phase, message, startedAt, finishedAt } = workflow
    const took =
      startedAt === undefined || finishedAt === undefined ? '' : ` in ${formatDuration(Math.max(0, finishedAt - startedAt))}`
    out.line(`workflow/${name} ${phase}${took}${message === undefined ? '' : `: ${message}`}`)
  }
  return wait && workflow.phase !== 'succeeded' ? 1 : undefined
}

/** Waits until a workflow has ended. Throws `unavailable` if that takes longer. */
async function untilDone(calls: GitopsRuntimeCalls, begun: RuntimeWorkflow, seconds: number): Promise<RuntimeWorkflow> {
  const end = systemClock.monotonic() + seconds * 1_000
  let workflow = begun
  while (workflow.phase === 'pending' || workflow.phase === 'running') {
    if (systemClock.monotonic() > end)
      throw fault('unavailable', {
        message: `The workflow "${workflow.name}" has not ended within ${seconds} s.`,
        hint: 'It goes on. See `windlass gitops workflow get`.',
      })
    await systemClock.sleep(POLL_MS)
    workflow = await calls.workflow(workflow.name)
  }
  return workflow
}
