/** `gitops pipeline create` and `list`. */
import { fault } from '@windlass/kit/faults'
import { DELIVERY_EVENTS, type DeliveryEvent, type DeliveryPipelineChange } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { readInput } from '../../input/input-files.ts'
import type { Printer } from '../../printer.ts'
import { COMMIT_TIMEOUT, openRuntime } from '../gitops-repository/runtime-session.ts'

interface Common {
  readonly runtimeUrl: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

interface CreateOptions extends Common {
  readonly repo: string | undefined
  readonly branch: string | undefined
  readonly event: readonly string[]
  readonly image: string | undefined
  readonly script: string | undefined
  readonly gitSecret: string | undefined
  readonly workflowTemplate: string | undefined
  readonly serviceAccount: string | undefined
  readonly gitSource: string | undefined
  readonly noWebhook: boolean
  readonly message: string | undefined
  readonly dryRun: boolean
}

/** Runs `gitops pipeline create RUNTIME NAME`. */
export async function createPipeline({ args, options, out, settings }: Invocation<CreateOptions>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { repo, branch, workflowTemplate, serviceAccount, gitSource, noWebhook, message, dryRun, output } = options
  if (repo === undefined) throw fault('usage', { message: 'The repository is missing.', hint: 'Add `--repo URL`.' })
  const input = {
    name,
    repository: repo,
    branch,
    events: eventsOf(options.event),
    run: scriptOf(options),
    workflowTemplate,
    serviceAccount,
    gitSource,
    webhook: !noWebhook,
    message,
    dryRun,
  }
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const change = await calls.createDeliveryPipeline(input, COMMIT_TIMEOUT)
  if (output !== undefined) return printValue(out, change, output)
  return dryRun ? printFiles(out, change) : printCreated(out, change)
}

/** Throws `usage`. */
function eventsOf(given: readonly string[]): DeliveryEvent[] | undefined {
  if (given.length === 0) return undefined
  return given.map((text) => {
    const found = DELIVERY_EVENTS.find((event) => event === text)
    if (found !== undefined) return found
    throw fault('usage', { message: `The event "${text}" does not exist.`, hint: `Use one of ${DELIVERY_EVENTS.join(', ')}.` })
  })
}

/** Returns what the workflow runs; undefined for that of a template. Throws `usage`, and `file-not-found`. */
function scriptOf({ image, script, gitSecret, workflowTemplate }: CreateOptions) {
  if (workflowTemplate !== undefined && image === undefined && script === undefined && gitSecret === undefined) return undefined
  if (workflowTemplate === undefined && image !== undefined && script !== undefined)
    return { image, script: script === '-' ? readInput('-').text : script, gitSecret }
  throw fault('usage', {
    message: workflowTemplate === undefined ? 'The script is missing.' : 'A template and a script exclude each other.',
    hint: 'Add `--image` and `--script`, or `--workflow-template`.',
  })
}

function printFiles(out: Printer, { files, branch, repository }: DeliveryPipelineChange): void {
  for (const { file, text } of files) {
    out.line(`# ${file}`)
    for (const line of text.trimEnd().split('\n')) out.line(line)
    out.line('---')
  }
  out.note(`They would be files of the branch ${branch} of ${repository}.`)
}

function printCreated(out: Printer, { name, commit, gitSource, isRefreshed, webhook }: DeliveryPipelineChange): void {
  const isNew = commit?.isNew === true
  out.line(`delivery-pipeline/${name} ${isNew ? 'created' : 'unchanged'}`)
  if (isNew) out.note(`Commit on ${commit.branch}: ${commit.url}`)
  if (isNew && !isRefreshed)
    out.note(
      `The cluster has no application for the Git source "${gitSource}", or it did not answer. Argo CD finds the commit later.`,
    )
  if (webhook === undefined) return
  const { url, state, problem } = webhook
  if (state === 'failed')
    out.note(`The webhook for ${url} was not created: ${problem ?? ''} Correct that, then run the command again.`)
  else out.note(`Webhook ${state === 'created' ? 'created' : 'there already'}: ${url}`)
}

/** Runs `gitops pipeline list RUNTIME`. */
export async function listPipelines({ args, options, out, settings }: Invocation<Common>): Promise<void> {
  const { calls } = await openRuntime(settings, { runtime: args[0] ?? '', url: options.runtimeUrl })
  const { items, unread } = await calls.deliveryPipelines()
  if (options.output !== undefined) return printValue(out, { items, unread }, options.output)
  const { style } = out.stdout
  const head = ['NAME', 'SENSOR', 'EVENTS', 'TEMPLATE', 'GIT SOURCE', 'FILE'].map((cell) => style.dim(cell))
  const rows = items.map(({ name, sensor, events, workflowTemplate, gitSource, file }) => [
    name,
    sensor,
    events.join(','),
    workflowTemplate ?? '',
    gitSource,
    file,
  ])
  if (rows.length === 0) out.note('No delivery pipelines found.')
  else for (const line of alignColumns([head, ...rows])) out.line(line)
  for (const problem of unread) out.note(problem)
  return undefined
}
