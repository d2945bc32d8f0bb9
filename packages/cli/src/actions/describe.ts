import { systemClock } from '@windlass/kit'
import { formatDuration } from '@windlass/plan'
import type { Approval, Attempt, Build, BuildStep } from '@windlass/protocol'
import { getBuild } from '../api.ts'
import type { Invocation } from '../command.ts'
import { printValue } from '../format/output.ts'
import { alignColumns } from '../format/columns.ts'
import { formatProblem } from '../format/problems.ts'
import { formatUsage } from '../format/usage.ts'
import { markOf, paintStatus, type Style } from '../format/style.ts'
import { formatAge, formatTime } from '../format/time.ts'
import { textOfReason } from '../follow/wording.ts'
import { openSession } from '../session.ts'

/** `describe build ID`. */
export async function describeBuild({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const build = await getBuild(openSession(settings).client, args[0] ?? '')
  if (options.output !== undefined) return printValue(out, build, options.output)
  const look = { style: out.stdout.style, now: systemClock.now() }
  for (const line of describe(build, look)) out.line(line)
}

interface Look {
  readonly style: Style
  readonly now: number
}

/** Every line of the description. */
export function describe(build: Build, look: Look): string[] {
  const { style } = look
  const lines = alignColumns(facts(build, look).filter(([, value]) => value !== ''))
  for (const problem of build.problems ?? [])
    lines.push(...formatProblem({ ...problem, severity: problem.severity === 'warning' ? 'warning' : 'error' }, new Map(), style))
  if ((build.steps ?? []).length > 0) {
    const isUsed = (build.steps ?? []).some(({ usage }) => usage !== undefined)
    const head = ['STEP', 'TYPE', 'STATUS', 'TIME', ...(isUsed ? ['USED'] : []), 'REASON'].map((cell) => style.dim(cell))
    lines.push('', ...alignColumns([head, ...(build.steps ?? []).map((step) => stepRow(step, look, isUsed))]))
  }
  if ((build.attempts ?? []).length > 0) {
    const head = ['ATTEMPT', 'STATUS', 'RESULT', 'TIME', 'REASON'].map((cell) => style.dim(cell))
    lines.push('', ...alignColumns([head, ...(build.attempts ?? []).map((attempt) => attemptRow(attempt, look))]))
  }
  const approvals = (build.approvals ?? []).map((approval) => approvalLine(approval, look))
  if (approvals.length > 0) lines.push('', ...approvals)
  return lines
}

function annotationsOf({ annotations = {} }: Build): string {
  return Object.entries(annotations)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}

function approvalLine({ step, decision, by, comment, waitingSince, expiresAt }: Approval, { now }: Look): string {
  if (decision === undefined) {
    const rest = formatDuration(Math.max(0, expiresAt - now))
    return `Approval of ${step}: waits since ${formatTime(waitingSince)}, for ${rest} more.`
  }
  const why = comment === undefined ? '' : `: ${comment}`
  return `Approval of ${step}: ${decision} by ${by?.name ?? 'somebody'}${why}`
}

function facts(build: Build, { style, now }: Look): [string, string][] {
  const why = build.message ?? textOfReason(build.reason) ?? ''
  return [
    ['Build:', `${build.id}${build.number > 0 ? ` (number ${build.number})` : ''}`],
    ['Pipeline:', build.pipeline ?? ''],
    ['Status:', paintStatus(style, build.status) + (build.reason === undefined ? '' : ` (${build.reason})`)],
    ['Why:', why],
    ['Hint:', build.hint ?? ''],
    ['Branch:', build.branch ?? ''],
    ['Commit:', build.revision ?? ''],
    ['Runtime:', build.runtime ?? ''],
    ['Started by:', build.initiator],
    ['Repeats:', build.restartOf ?? ''],
    ['Trigger:', build.triggerName ?? ''],
    ['Annotations:', annotationsOf(build)],
    ['Retries:', build.retries > 0 ? String(build.retries) : ''],
    ['Created:', `${formatTime(build.createdAt)} (${formatAge(build.createdAt, now)} ago)`],
    ['Waited:', build.startedAt === undefined ? '' : formatDuration(Math.max(0, build.startedAt - build.createdAt))],
    ['Ran:', timeOf(build.startedAt, build.finishedAt, now)],
  ]
}

function stepRow(step: BuildStep, { style, now }: Look, isUsed: boolean): string[] {
  const status = paintStatus(style, step.status, `${markOf(step.status)} ${step.status}`)
  const why = [step.carried === true ? 'taken over' : '', step.reason ?? '', step.message ?? '']
    .filter((part) => part !== '')
    .join(': ')
  return [
    step.name,
    step.type,
    status,
    timeOf(step.startedAt, step.finishedAt, now),
    ...(isUsed ? [formatUsage(step.usage)] : []),
    why,
  ]
}

function attemptRow(attempt: Attempt, { now }: Look): string[] {
  const pair = attempt.pairId === undefined ? '' : `in the warm pair ${attempt.pairId}`
  const why = [attempt.reason ?? '', attempt.message ?? '', pair].filter((part) => part !== '').join(': ')
  return [String(attempt.number), attempt.status, attempt.result ?? '', timeOf(attempt.startedAt, attempt.endedAt, now), why]
}

function timeOf(from: number | undefined, to: number | undefined, now: number): string {
  return from === undefined ? '' : formatDuration(Math.max(0, (to ?? now) - from))
}
