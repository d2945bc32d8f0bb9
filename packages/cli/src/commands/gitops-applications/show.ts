/** `gitops app list` and `gitops app get`. */
import { systemClock } from '@windlass/kit'
import { formatDuration } from '@windlass/plan'
import type { RuntimeApplication, RuntimeApplicationDetails, SyncOperation } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge, formatTime } from '../../format/time.ts'
import { destinationOf } from '../../resources/application-kind.ts'
import { openRuntime } from '../gitops-repository/runtime-session.ts'
import { nameOf } from './resource-names.ts'

/** Commits are cut, as Git shows them. */
const SHOWN_REVISION = 12

export interface Shown {
  readonly runtimeUrl: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `gitops app list RUNTIME`. */
export async function listApplications({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const { calls } = await openRuntime(settings, { runtime: args[0] ?? '', url: options.runtimeUrl })
  const { items } = await calls.applications()
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('No applications found.')
  const { style } = out.stdout
  const head = ['NAME', 'PROJECT', 'HEALTH', 'SYNC', 'REVISION', 'OPERATION', 'DESTINATION'].map((cell) => style.dim(cell))
  const rows = items.map((app) => [
    app.name,
    app.project,
    paintStatus(style, app.health),
    paintStatus(style, app.sync),
    shortOf(app.revisions),
    app.operation === undefined ? '' : paintStatus(style, app.operation.phase),
    destinationOf(app),
  ])
  for (const line of alignColumns([head, ...rows])) out.line(line)
  return undefined
}

/** Runs `gitops app get RUNTIME NAME`. */
export async function getApplication({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const app = await calls.application(name)
  if (options.output !== undefined) return printValue(out, app, options.output)
  for (const line of describe(app, out.stdout.style)) out.line(line)
  return undefined
}

function describe(app: RuntimeApplicationDetails, style: Style): string[] {
  const { healthMessage, parent, conditions, resources, history } = app
  const now = systemClock.now()
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Application:', app.name],
    ['Project:', app.project],
    ['Health:', paintStatus(style, app.health)],
    ['Message:', healthMessage],
    ['Sync:', `${paintStatus(style, app.sync)}${app.isAutomatic ? ' (automatic)' : ''}`],
    ['Revision:', app.revisions.join(', ')],
    ['Last sync:', app.operation === undefined ? undefined : operationOf(app.operation)],
    ...app.sources.map(({ repo, path, chart, revision }) => {
      const place = chart === undefined ? path : `chart ${chart}`
      return ['Source:', [repo, place, revision === undefined ? '' : `at ${revision}`].filter(Boolean).join(' ')] as const
    }),
    ['Destination:', destinationOf(app)],
    ['Created by:', parent === undefined ? undefined : `the application ${parent}`],
    ['Created:', `${formatTime(app.createdAt)} (${formatAge(app.createdAt, now)} ago)`],
  ]
  const lines = alignColumns(facts.flatMap(([key, value]) => (value === undefined || value === '' ? [] : [[key, value]])))
  if (app.isDeleting) lines.push('', 'Argo CD deletes the application.')
  if (conditions.length > 0) lines.push('', ...conditions.map(({ type, message }) => `${type}: ${message}`))
  if (resources.length > 0) {
    const head = ['OBJECT', 'HEALTH', 'SYNC', 'MESSAGE'].map((cell) => style.dim(cell))
    const rows = resources.map((resource) => [
      nameOf(resource),
      resource.health === undefined ? '' : paintStatus(style, resource.health),
      resource.sync === undefined ? '' : paintStatus(style, resource.sync),
      [resource.isExtra === true ? 'not in the source' : '', resource.message ?? ''].filter(Boolean).join(': '),
    ])
    lines.push('', ...alignColumns([head, ...rows]))
  }
  if (history.length > 0) {
    const head = ['DEPLOYMENT', 'REVISION', 'AGE', 'BY'].map((cell) => style.dim(cell))
    const rows = history.map(({ id, revisions, at, by }) => [
      String(id),
      shortOf(revisions),
      at === undefined ? '' : formatAge(at, now),
      by ?? 'Argo CD',
    ])
    lines.push('', ...alignColumns([head, ...rows]))
  }
  return lines
}

/** Returns a sync in words: how it ended, and who started it. */
export function operationOf({ phase, message, startedAt, finishedAt, by, retries = 0 }: SyncOperation): string {
  const took =
    startedAt === undefined || finishedAt === undefined ? '' : ` in ${formatDuration(Math.max(0, finishedAt - startedAt))}`
  const notes = [by === undefined ? 'by Argo CD' : `by ${by}`, ...(retries === 0 ? [] : [`retries: ${retries}`])].join(', ')
  return `${phase}${took} (${notes})${message === undefined ? '' : `: ${message}`}`
}

function shortOf(revisions: RuntimeApplication['revisions']): string {
  return revisions.map((revision) => revision.slice(0, SHOWN_REVISION)).join(',')
}
