/** Runs `describe application`. */
import { systemClock } from '@windlass/kit'
import { formatDuration } from '@windlass/plan'
import type { ApplicationDetails, ApplicationSource, SyncOperation } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge, formatTime } from '../../format/time.ts'
import { destinationOf } from '../../resources/application-kind.ts'
import { openSession } from '../../session/session.ts'

/** Resources that are listed. */
const SHOWN_RESOURCES = 50

interface RenderContext {
  readonly style: Style
  readonly now: number
}

export async function describeApplication({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const application = await openSession(settings).client.applications.get(args[0] ?? '')
  if (options.output !== undefined) return printValue(out, application, options.output)
  for (const line of describe(application, { style: out.stdout.style, now: systemClock.now() })) out.line(line)
  return undefined
}

/** Returns the lines of the description. */
export function describe(application: ApplicationDetails, { style, now }: RenderContext): string[] {
  const { runtime, namespace, name, health, sync, operation, conditions, resources, resourceCount } = application
  const facts: [string, string][] = [
    ['Application:', `${runtime}/${namespace}/${name}`],
    ['Id:', application.id],
    ['Why:', application.why ?? ''],
    ['Health:', paintStatus(style, health)],
    ['Sync:', `${paintStatus(style, sync)}${application.isAutomatic ? ' (automatic)' : ''}`],
    ['Since:', `${formatTime(application.since)} (${formatAge(application.since, now)} ago)`],
    ['Revision:', application.revisions.join(', ')],
    ['Last sync:', operation === undefined ? '' : operationOf(operation)],
    ['Project:', application.project],
    ...application.sources.map((source): [string, string] => ['Source:', sourceOf(source)]),
    ['Destination:', destinationOf(application)],
    ['Images:', application.images.join(', ')],
    ['Reported:', `${formatTime(application.reportedAt)} (${formatAge(application.reportedAt, now)} ago)`],
    ['Created:', formatTime(application.createdAt)],
  ]
  const lines = alignColumns(facts.filter(([, value]) => value !== ''))
  if (conditions.length > 0) lines.push('', ...conditions.map(({ type, message }) => `${type}: ${message}`))
  if (resources.length === 0) return lines
  const head = ['KIND', 'NAMESPACE', 'NAME', 'HEALTH', 'SYNC', 'MESSAGE'].map((cell) => style.dim(cell))
  const rows = resources
    .slice(0, SHOWN_RESOURCES)
    .map((resource) => [
      resource.group === undefined ? resource.kind : `${resource.kind}.${resource.group}`,
      resource.namespace ?? '',
      resource.name,
      resource.health === undefined ? '' : paintStatus(style, resource.health),
      resource.sync === undefined ? (resource.isHook === true ? 'hook' : '') : paintStatus(style, resource.sync),
      [resource.isExtra === true ? 'not in the source' : '', resource.message ?? ''].filter((part) => part !== '').join(': '),
    ])
  lines.push('', ...alignColumns([head, ...rows]))
  const hidden = resourceCount - rows.length
  if (hidden > 0) lines.push(style.dim(`${hidden} more resources. The option -o json lists those that the server has.`))
  return lines
}

function sourceOf({ repo, path, chart, revision }: ApplicationSource): string {
  const place = chart === undefined ? path : `chart ${chart}`
  return [repo, place, revision === undefined ? undefined : `at ${revision}`].filter((part) => part !== undefined).join(' ')
}

function operationOf({ phase, message, startedAt, finishedAt, by, retries = 0 }: SyncOperation): string {
  const times = startedAt === undefined ? '' : ` since ${formatTime(startedAt)}`
  const took =
    startedAt === undefined || finishedAt === undefined ? times : ` in ${formatDuration(Math.max(0, finishedAt - startedAt))}`
  const notes = [by === undefined ? 'by Argo CD' : `by ${by}`, ...(retries === 0 ? [] : [`retries: ${retries}`])].join(', ')
  return `${phase}${took} (${notes})${message === undefined ? '' : `: ${message}`}`
}
