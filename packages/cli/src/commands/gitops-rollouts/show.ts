/** `gitops app rollouts` and `gitops app rollout get`. */
import type { GitopsRuntimeCalls } from '@windlass/client/gitops-runtime'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { Rollout } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge } from '../../format/time.ts'
import { openRuntime } from '../gitops-repository/runtime-session.ts'

export interface Shown {
  readonly runtimeUrl: string | undefined
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `gitops app rollouts RUNTIME NAME`. */
export async function listRollouts({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const { items } = await calls.rollouts(name)
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('The application has no rollouts.')
  const head = ['ROLLOUT', 'PHASE', 'STRATEGY', 'STEP', 'WEIGHT', 'REVISION', 'AVAILABLE', 'MESSAGE']
  const rows = items.map((rollout) => [
    nameOf(rollout),
    paintStatus(out.stdout.style, rollout.phase),
    rollout.strategy,
    stepOf(rollout),
    weightOf(rollout),
    String(rollout.revision ?? ''),
    `${rollout.replicas.available}/${rollout.replicas.wanted}`,
    rollout.message ?? '',
  ])
  for (const line of alignColumns([head.map((cell) => out.stdout.style.dim(cell)), ...rows])) out.line(line)
  return undefined
}

/** Runs `gitops app rollout get RUNTIME NAME [ROLLOUT]`. */
export async function getRollout({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = '', name = '', given] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const rollout = await findRollout(calls, name, given)
  if (options.output !== undefined) return printValue(out, rollout, options.output)
  for (const line of describe(rollout, out.stdout.style)) out.line(line)
  return undefined
}

/** Returns the rollout that is named, or the only one. Throws `not-found` and `usage`. */
export async function findRollout(calls: GitopsRuntimeCalls, application: string, given: string | undefined): Promise<Rollout> {
  const { items } = await calls.rollouts(application)
  const found = items.filter((rollout) => given === undefined || [rollout.name, nameOf(rollout)].includes(given))
  const [only] = found
  if (only !== undefined && found.length === 1) return only
  const names = items.map(nameOf).join(', ')
  if (found.length > 1)
    throw fault('usage', { message: `The application has several such rollouts: ${names}.`, hint: 'Name one: NAMESPACE/NAME.' })
  throw fault('not-found', {
    message: given === undefined ? 'The application has no rollouts.' : `The application has no rollout "${given}".`,
    hint: names === '' ? 'List its objects with `windlass gitops app tree`.' : `It has ${names}.`,
  })
}

function nameOf({ namespace, name }: Rollout): string {
  return `${namespace}/${name}`
}

function stepOf({ steps, currentStep }: Rollout): string {
  return currentStep === undefined ? '' : `${currentStep}/${steps.length}`
}

function weightOf({ weight }: Rollout): string {
  return weight === undefined ? '' : `${weight} %`
}

function describe(rollout: Rollout, style: Style): string[] {
  const { phase, message, strategy, replicas, revision, isAborted, isPaused, services, steps, analyses, revisions, actions } =
    rollout
  const marks = [isAborted ? 'aborted' : '', isPaused ? 'paused' : ''].filter((mark) => mark !== '' && mark !== phase)
  const facts: readonly (readonly [string, string])[] = [
    ['Rollout:', nameOf(rollout)],
    ['Phase:', `${paintStatus(style, phase)}${marks.length === 0 ? '' : ` (${marks.join(', ')})`}`],
    ['Message:', message ?? ''],
    ['Strategy:', strategy],
    ['Steps:', stepOf(rollout)],
    ['Weight:', weightOf(rollout)],
    ['Revision:', String(revision ?? '')],
    ['Pods:', `${replicas.wanted} wanted, ${replicas.updated} of this revision, ${replicas.available} available`],
    ['Services:', services.join(', ')],
    ['Possible now:', actions.join(', ')],
  ]
  const lines = alignColumns(facts.filter(([, value]) => value !== '').map((row) => [...row]))
  const table = (head: readonly string[], rows: readonly string[][]): void => {
    if (rows.length > 0) lines.push('', ...alignColumns([head.map((cell) => style.dim(cell)), ...rows]))
  }
  table(
    ['#', 'STEP', 'STATE'],
    steps.map(({ text, state }, index) => [String(index), text, paintStep(style, state)]),
  )
  table(
    ['ANALYSIS', 'OF', 'STATUS', 'MESSAGE'],
    analyses.map((run) => [run.name, run.of, paintStatus(style, run.status.toLowerCase()), run.message ?? '']),
  )
  const now = systemClock.now()
  table(
    ['REVISION', 'REPLICASET', 'AGE', ''],
    revisions.map((one) => [
      String(one.revision),
      one.name,
      one.createdAt === undefined ? '' : formatAge(one.createdAt, now),
      [one.isCurrent ? 'current' : '', one.isStable ? 'stable' : ''].filter(Boolean).join(', '),
    ]),
  )
  return lines
}

function paintStep(style: Style, state: Rollout['steps'][number]['state']): string {
  if (state === 'passed') return paintStatus(style, 'success', state)
  if (state === 'active') return paintStatus(style, 'running', state)
  return state === 'pending' ? style.dim(state) : paintStatus(style, state)
}
