/** Runs `describe product` and `describe release`. */
import { systemClock } from '@windlass/kit'
import type { Product, Promotion, Release, ReleaseBuild } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge, formatTime } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

/** Commits are cut, as Git shows them. */
const SHOWN_REVISION = 12

type Output = Invocation<{ output: 'json' | 'yaml' | undefined }>

export async function describeProduct({ args, options, out, settings }: Output): Promise<void> {
  const product = await openSession(settings).client.products.get(args[0] ?? '')
  if (options.output !== undefined) return printValue(out, product, options.output)
  for (const line of productLines(product, out.stdout.style, systemClock.now())) out.line(line)
  return undefined
}

export async function describeRelease({ args, options, out, settings }: Output): Promise<void> {
  const release = await openSession(settings).client.releases.get(args[0] ?? '')
  if (options.output !== undefined) return printValue(out, release, options.output)
  for (const line of releaseLines(release, out.stdout.style)) out.line(line)
  return undefined
}

function heads(style: Style, ...names: string[]): string[] {
  return names.map((name) => style.dim(name))
}

function factLines(facts: readonly (readonly [string, string])[]): string[] {
  return alignColumns(facts.filter(([, value]) => value !== '').map(([name, value]) => [name, value]))
}

function productLines(product: Product, style: Style, now: number): string[] {
  const { name, description = '', promotionFlows: flows, concurrency, release, environments, elsewhere, next } = product
  const last = release === undefined ? '' : `#${release.number} ${paintStatus(style, release.status)} (${release.id})`
  const lines = factLines([
    ['Product:', name],
    ['Description:', description],
    ['Flows:', flows.map((flow) => `${flow.name}${flow.gitTriggerSelectors === undefined ? '' : ' (automatic)'}`).join(', ')],
    ['Concurrency:', concurrency],
    ['Last release:', last],
  ])
  const rows = environments.flatMap(({ environment, kind, applications }) =>
    applications.map(({ runtime, namespace, name: own, version = '', health, sync, since, revision = '', why = '' }) => [
      environment,
      kind,
      `${runtime}/${namespace}/${own}`,
      version,
      paintStatus(style, health),
      paintStatus(style, sync),
      revision.slice(0, SHOWN_REVISION),
      formatAge(since, now),
      why,
    ]),
  )
  const head = heads(style, 'ENVIRONMENT', 'KIND', 'APPLICATION', 'VERSION', 'HEALTH', 'SYNC', 'REVISION', 'SINCE', 'WHY')
  if (rows.length > 0) lines.push('', ...alignColumns([head, ...rows]))
  if (next !== undefined)
    lines.push(
      '',
      `Next release: ${next.message} (${next.revision.slice(0, SHOWN_REVISION)} of ${next.application}). ${next.why}`,
    )
  const unseen = (product.unseen ?? []).map(({ application, why }) => `The last commit of ${application} is not known. ${why}`)
  if (unseen.length > 0) lines.push('', ...unseen)
  if (elsewhere.length > 0) lines.push('', `In no environment: ${elsewhere.join(', ')}`)
  return lines
}

function releaseLines(release: Release, style: Style): string[] {
  const {
    id,
    product,
    number,
    flow = '',
    from,
    status,
    version = '',
    why = '',
    createdBy,
    createdAt,
    steps,
    builds,
    trigger,
  } = release
  const lines = factLines([
    ['Release:', `${number} of ${product}`],
    ['Id:', id],
    ['Status:', paintStatus(style, status)],
    ['Why:', why],
    ['Version:', version],
    ['Flow:', flow],
    ['From:', from],
    ['Started by:', createdBy],
    [
      'Commit:',
      trigger === undefined ? '' : `${trigger.message} (${trigger.revision.slice(0, SHOWN_REVISION)} of ${trigger.application})`,
    ],
    ['Created:', formatTime(createdAt)],
    ['Ended:', formatTime(release.endedAt)],
    ...builds.map((build): [string, string] => ['Build:', buildOf(build)]),
  ])
  for (const { environment, kind, state, why: stepWhy, promotions, builds: stepBuilds } of steps) {
    lines.push('', `${environment} (${kind}): ${paintStatus(style, state)}${stepWhy === undefined ? '' : ` - ${stepWhy}`}`)
    lines.push(...stepBuilds.map((build) => `  ${buildOf(build)}`))
    const rows = promotions.map((promotion) => [
      `  ${promotion.application}`,
      paintStatus(style, promotion.state),
      promotion.action,
      changeOf(promotion),
      promotion.builds.map(buildOf).join(', '),
    ])
    const head = heads(style, '  APPLICATION', 'STATE', 'ACTION', 'CHANGE', 'BUILDS')
    if (rows.length > 0) lines.push(...alignColumns([head, ...rows]))
  }
  return lines
}

function changeOf({ revision = '', isNew, pull }: Promotion): string {
  const commit = revision === '' ? '' : `${revision.slice(0, SHOWN_REVISION)}${isNew === false ? ' (had it already)' : ''}`
  return [pull?.url ?? '', commit].filter((part) => part !== '').join(' ')
}

function buildOf({ hook, pipeline, buildId = 'not started', state }: ReleaseBuild): string {
  return `${hook} ${pipeline} ${buildId} ${state}`
}
