/** `gitops workflow list` and `gitops workflow get`. */
import { systemClock } from '@windlass/kit'
import { formatDuration } from '@windlass/plan'
import type { RuntimeWorkflow, WorkflowListQuery, WorkflowNode } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge, formatTime } from '../../format/time.ts'
import { openRuntime } from '../gitops-repository/runtime-session.ts'

export interface Shown {
  readonly runtimeUrl: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `gitops workflow list RUNTIME`. */
export async function listWorkflows({
  args,
  options,
  out,
  settings,
}: Invocation<
  Shown & {
    readonly phase: WorkflowListQuery['phase']
    readonly template: string | undefined
    readonly limit: number | undefined
  }
>): Promise<void> {
  const { phase, template, limit } = options
  const { calls } = await openRuntime(settings, { runtime: args[0] ?? '', url: options.runtimeUrl })
  const { items, isCut } = await calls.workflows({ query: { phase, template, limit } })
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('No workflows found.')
  const { style } = out.stdout
  const now = systemClock.now()
  const head = ['NAME', 'PHASE', 'AGE', 'TEMPLATE', 'BY'].map((cell) => style.dim(cell))
  const rows = items.map((item) => [
    item.name,
    paintStatus(style, item.phase),
    formatAge(item.createdAt, now),
    item.template ?? '',
    item.by ?? '',
  ])
  for (const line of alignColumns([head, ...rows])) out.line(line)
  if (isCut === true) out.note(`Only the newest ${items.length} workflows are shown. See --limit.`)
  return undefined
}

/** Runs `gitops workflow get RUNTIME NAME`. */
export async function getWorkflow({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const workflow = await calls.workflow(name)
  if (options.output !== undefined) return printValue(out, workflow, options.output)
  for (const line of describe(workflow, out.stdout.style)) out.line(line)
  if (workflow.areNodesElsewhere === true)
    out.note('Argo Workflows keeps the nodes of this workflow in its database, which only its server reads.')
  return undefined
}

function describe(workflow: RuntimeWorkflow, style: Style): string[] {
  const { phase, shutdown, startedAt, finishedAt, locks, parameters, nodes } = workflow
  const now = systemClock.now()
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Workflow:', workflow.name],
    ['Template:', workflow.template],
    ['Phase:', `${paintStatus(style, phase)}${shutdown !== undefined && isOpen(phase) ? ` (${ENDING[shutdown]})` : ''}`],
    ['Message:', workflow.message],
    ['Progress:', workflow.progress],
    ['Duration:', startedAt === undefined ? undefined : formatDuration(Math.max(0, (finishedAt ?? now) - startedAt))],
    ...locks.map(({ kind, name, state }) => [LOCK_STATES[state], `the ${kind} ${name}`] as const),
    ['Submitted by:', workflow.by],
    ['Repeats:', workflow.resubmittedFrom],
    ['Created:', `${formatTime(workflow.createdAt)} (${formatAge(workflow.createdAt, now)} ago)`],
  ]
  const lines = alignColumns(facts.flatMap(([key, value]) => (value === undefined || value === '' ? [] : [[key, value]])))
  if (parameters.length > 0) {
    const head = ['PARAMETER', 'VALUE'].map((cell) => style.dim(cell))
    lines.push('', ...alignColumns([head, ...parameters.map(({ name, value }) => [name, value])]))
  }
  if (nodes.length > 0) {
    const head = ['NODE', 'TYPE', 'PHASE', 'DURATION', 'POD', 'MESSAGE'].map((cell) => style.dim(cell))
    lines.push('', ...alignColumns([head, ...rowsOf(workflow, style, now)]))
  }
  return lines
}

const ENDING = { stop: 'stopping', terminate: 'terminating' } as const
const LOCK_STATES = { waiting: 'Waits for:', held: 'Holds:' } as const

function isOpen(phase: RuntimeWorkflow['phase']): boolean {
  return phase === 'pending' || phase === 'running'
}

/** Returns a row for each node, in the order in which they began. */
function rowsOf({ nodes, pods }: RuntimeWorkflow, style: Style, now: number): string[][] {
  const podOf = new Map(pods.map(({ node, name, isArchived }) => [node, isArchived === true ? `${name} (archived)` : name]))
  const order = (a: WorkflowNode, b: WorkflowNode): number =>
    (a.startedAt ?? Infinity) - (b.startedAt ?? Infinity) || (a.name < b.name ? -1 : 1)
  return nodes
    .toSorted(order)
    .map((node) => [
      node.name,
      node.type,
      paintStatus(style, node.phase),
      node.startedAt === undefined ? '' : formatDuration(Math.max(0, (node.finishedAt ?? now) - node.startedAt)),
      podOf.get(node.id) ?? '',
      node.message ?? '',
    ])
}
