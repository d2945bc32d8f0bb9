import { systemClock } from '@windlass/kit'
import { formatBytes, formatDuration, formatProgress, formatUsage, formatWaiting, textOfReason } from '@windlass/plan'
import type { Approval, Attempt, Build, BuildStep, MissingLog, RetryDecision } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { printValue } from '../../format/output.ts'
import { alignColumns } from '../../format/columns.ts'
import { formatProblem } from '../../format/problems.ts'
import { markOf, paintStatus, type Style } from '../../format/style.ts'
import { formatAge, formatTime } from '../../format/time.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session/session.ts'
import { failedLines } from './failed-lines.ts'
import { stepNotes } from './step-notes.ts'

/** Runs `describe build ID`. */
export async function describeBuild({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const { client } = openSession(settings)
  const build = await client.builds.get(requireBuildId(args[0] ?? ''))
  if (options.output !== undefined) return printValue(out, build, options.output)
  const { style } = out.stdout
  for (const line of describe(build, { style, now: systemClock.now() })) out.line(line)
  const failed = await failedLines(client, build, style)
  for (const line of failed.length === 0 ? [] : ['', ...failed]) out.line(line)
}

interface RenderContext {
  readonly style: Style
  readonly now: number
}

/** Returns the lines of the description. */
export function describe(build: Build, renderContext: RenderContext): string[] {
  const { style } = renderContext
  const lines = alignColumns(facts(build, renderContext).filter(([, value]) => value !== ''))
  for (const problem of build.problems ?? [])
    lines.push(...formatProblem({ ...problem, severity: problem.severity === 'warning' ? 'warning' : 'error' }, new Map(), style))
  if ((build.steps ?? []).length > 0) {
    const isUsed = (build.steps ?? []).some(({ usage }) => usage !== undefined)
    const head = ['STEP', 'TYPE', 'STATUS', 'TIME', ...(isUsed ? ['USED'] : []), 'REASON'].map((cell) => style.dim(cell))
    lines.push('', ...alignColumns([head, ...(build.steps ?? []).map((step) => stepRow(step, renderContext, isUsed))]))
  }
  if ((build.attempts ?? []).length > 0) {
    const head = ['ATTEMPT', 'STATUS', 'RESULT', 'TIME', 'REASON'].map((cell) => style.dim(cell))
    lines.push('', ...alignColumns([head, ...(build.attempts ?? []).map((attempt) => attemptRow(attempt, renderContext))]))
  }
  for (const { number, missingLog = [] } of build.attempts ?? [])
    for (const part of missingLog) lines.push(missingLine(number, part))
  const notes = stepNotes(build)
  if (notes.length > 0) lines.push('', ...notes)
  const approvals = (build.approvals ?? []).map((approval) => approvalLine(approval, renderContext))
  if (approvals.length > 0) lines.push('', ...approvals)
  return lines
}

function annotationsOf({ annotations = {} }: Build): string {
  return Object.entries(annotations)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}

function missingLine(attempt: number, { stream, from, atLeast }: MissingLog): string {
  const what = atLeast > 0 ? `at least ${formatBytes(atLeast)} are missing` : 'any later output is missing'
  return `Attempt ${attempt}, ${stream}: the log ends at byte ${from}; ${what}.`
}

function approvalLine({ step, decision, by, comment, waitingSince, expiresAt }: Approval, { now }: RenderContext): string {
  const of = step === '' ? 'the build' : step
  if (decision === undefined) {
    const rest = formatDuration(Math.max(0, expiresAt - now))
    return `Approval of ${of}: waiting since ${formatTime(waitingSince)}, ${rest} left.`
  }
  const why = comment === undefined ? '' : `: ${comment}`
  return `Approval of ${of}: ${decision} by ${by?.name ?? 'unknown'}${why}`
}

function facts(build: Build, { style, now }: RenderContext): [string, string][] {
  const why = build.message ?? textOfReason(build.reason) ?? ''
  return [
    ['Build:', `${build.id}${build.number > 0 ? ` (number ${build.number})` : ''}`],
    ['Pipeline:', build.pipeline ?? ''],
    ['File:', build.file ?? ''],
    ['Status:', paintStatus(style, build.status) + (build.reason === undefined ? '' : ` (${build.reason})`)],
    ['Reason:', why],
    ['Hint:', build.hint ?? ''],
    ['Failed step:', build.blame ?? ''],
    ['Branch:', build.branch ?? ''],
    ['Commit:', build.revision ?? ''],
    ['Message:', build.commit?.message ?? ''],
    ['Author:', build.commit?.author ?? ''],
    ['Pull request:', pullRequestOf(build)],
    ['Steps:', formatProgress(build.progress)],
    ['Waits for:', formatWaiting(build.waiting)],
    ['Runtime:', build.runtime ?? ''],
    ['Started by:', build.initiator],
    ['Restart of:', build.restartOf ?? ''],
    ['Parent:', build.parent ?? ''],
    ['Trigger:', build.trigger.name ?? ''],
    ['Commit status:', commitStatusOf(build)],
    ['Annotations:', annotationsOf(build)],
    ['Retries:', build.retries > 0 ? String(build.retries) : ''],
    ['Created:', `${formatTime(build.createdAt)} (${formatAge(build.createdAt, now)} ago)`],
    ['Waited:', waitedOf(build)],
    ['Ran:', timeOf(build.startedAt, build.finishedAt, now)],
  ]
}

function pullRequestOf({ git }: Build): string {
  const { number, title, target } = git?.pullRequest ?? {}
  if (number === undefined) return ''
  return [`#${number}`, title ?? '', target === undefined ? '' : `into ${target}`].filter((part) => part !== '').join(' ')
}

/** `1 m 20 s (pipeline-limit 1 m, queued 20.0 s)`: the time until the first start, and the waits of all attempts by cause. */
function waitedOf({ startedAt, createdAt, waits = [] }: Build): string {
  const causes = waits.filter(({ ms }) => ms >= 1000).map(({ reason, ms }) => `${reason} ${formatDuration(ms)}`)
  const until = startedAt === undefined ? '' : formatDuration(Math.max(0, startedAt - createdAt))
  if (causes.length === 0) return until
  return until === '' ? causes.join(', ') : `${until} (${causes.join(', ')})`
}

function commitStatusOf({ commitStatus }: Build): string {
  if (commitStatus === undefined) return ''
  const { state, message, problem } = commitStatus
  if (message === 'sent') return `${state}, sent`
  const why = problem === undefined ? '' : `: ${problem}`
  return message === 'failed' ? `${state}, not sent${why}` : `${state}, to be sent${why}`
}

function stepRow(step: BuildStep, { style, now }: RenderContext, isUsed: boolean): string[] {
  const status = paintStatus(style, step.status, `${markOf(step.status)} ${step.status}`)
  const why = [step.carried === true ? 'reused' : '', step.reason ?? '', step.message ?? '']
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

function attemptRow(attempt: Attempt, { now }: RenderContext): string[] {
  const pair = attempt.pairId === undefined ? '' : `in warm pair ${attempt.pairId}`
  const why = [attempt.reason ?? '', attempt.message ?? '', pair].filter((part) => part !== '').join(': ')
  const next = attempt.retryDecision === undefined ? '' : ` (${textOfDecision(attempt.retryDecision)})`
  return [
    String(attempt.number),
    attempt.status,
    attempt.result ?? '',
    timeOf(attempt.startedAt, attempt.endedAt, now),
    why + next,
  ]
}

/** Returns the text of a decision, or the decision of a newer server. */
function textOfDecision(decision: RetryDecision): string {
  return Object.hasOwn(DECISIONS, decision) ? DECISIONS[decision] : decision
}

const DECISIONS: Readonly<Record<RetryDecision, string>> = {
  retried: 'retried',
  permanent: 'not retried: another attempt would not help',
  exhausted: 'not retried: no retries are left',
  poison: 'not retried: the engine was lost too often in a row',
  terminating: 'not retried: the build was ending',
}

function timeOf(from: number | undefined, to: number | undefined, now: number): string {
  return from === undefined ? '' : formatDuration(Math.max(0, (to ?? now) - from))
}
