/** What became of a build, in one sentence without its subject: the command line and the web page say the same. */
import { formatDuration } from '../duration.ts'
import { isFinalBuild, REASONS, type BuildStatus, type Reason } from '../lists.ts'
import { formatWaiting, type ShownProgress, type Wait } from './waiting.ts'

/** A step as the sentences need it. Absent values may be null. */
export interface DescribedStep {
  readonly name: string
  readonly parent?: string | null | undefined
  readonly type: string
  readonly status: string
  readonly reason?: string | null | undefined
  readonly message?: string | null | undefined
  readonly exitCode?: number | null | undefined
}

/** A build as the sentences need it. Times are epoch milliseconds; absent values may be null. */
export interface DescribedBuild {
  readonly status: string
  readonly reason?: string | null | undefined
  readonly message?: string | null | undefined
  readonly startedAt?: number | null | undefined
  readonly finishedAt?: number | null | undefined
  readonly problems?: readonly { readonly severity?: string | undefined }[] | undefined
  readonly steps?: readonly DescribedStep[] | undefined
  /** Name of the step to blame, from `blamedStep`, and why it failed, from `describeStep`. Lists have no steps. */
  readonly blame?: string | null | undefined
  readonly why?: string | null | undefined
  readonly progress?: ShownProgress | undefined
  readonly waiting?: Wait | undefined
}

const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['success', 'succeeded'],
  ['error', 'failed'],
  ['terminated', 'was terminated'],
])

const STATES: ReadonlyMap<string, string> = new Map([
  ['elected', 'is starting'],
  ['terminating', 'is being terminated'],
])

/**
 * Returns the state of a build, such as `failed after 3 m 04 s: step unit_tests: exit code 1`, `waits: The pipeline runs at most 1 build at once
 * (place 2, behind #812)` or `runs unit_tests, 3 of 9 steps done`.
 */
export function describeBuild(build: DescribedBuild): string {
  // A newer server may end builds with a status that this version does not know.
  if (!isKnownFinal(build.status) && typeof build.finishedAt !== 'number') return describeOpen(build)
  const time = durationOf(build)
  const ending = ENDINGS.get(build.status) ?? `ended with the status ${build.status}`
  const after = time === undefined ? '' : ` after ${formatDuration(time)}`
  const why = build.status === 'success' ? undefined : whyEnded(build)
  return `${ending}${after}${why === undefined ? '' : `: ${why}`}`
}

function describeOpen(build: DescribedBuild): string {
  const state = STATES.get(build.status)
  const why = textOf(build)
  if (build.status === 'running')
    return `${describeRunning(build.progress)}${build.waiting?.reason === 'debugger' ? `: ${withoutStop(REASONS.debugger.text)}` : ''}`
  if (state !== undefined) return why === undefined ? state : `${state}: ${why}`
  const details = formatWaiting(build.waiting)
  return `waits${causeOf(why)}${details === '' ? '' : ` (${details})`}`
}

/** `: The pipeline reached its limit`, or ` for approval of "release"` for a cause that says so itself. */
function causeOf(why: string | undefined): string {
  if (why === undefined) return ''
  const [, rest] = /^Waiting( for .*)$/s.exec(why) ?? []
  return withoutStop(rest ?? `: ${why}`)
}

function describeRunning(progress: ShownProgress | undefined): string {
  if (progress === undefined) return 'runs'
  const { current, done, total, failed } = progress
  const named = current === undefined ? '' : ` ${current}`
  return `runs${named}, ${done} of ${total} steps done${failed > 0 ? `, ${failed} failed` : ''}`
}

/** Returns how long a build ran until its end; undefined before it. Milliseconds. */
function durationOf({ startedAt, finishedAt }: DescribedBuild): number | undefined {
  return typeof startedAt !== 'number' || typeof finishedAt !== 'number' ? undefined : Math.max(0, finishedAt - startedAt)
}

function whyEnded(build: DescribedBuild): string | undefined {
  // Builds also run and fail with mere warnings.
  const { problems = [] } = build
  if (problems.some(({ severity }) => severity !== 'warning')) return `the document has ${countProblems(problems)}`
  if (build.status !== 'error') return textOf(build)
  const failed = stepToBlame(build)
  const why = build.why ?? (failed && describeStep(failed))
  return why === undefined ? textOf(build) : `step ${build.blame}: ${why}`
}

function textOf({ message, reason }: DescribedBuild): string | undefined {
  return message ?? textOfReason(reason)
}

/** Returns why a step ended, such as `exit code 1`; `failed` if nothing is known. */
export function describeStep({ message, reason, exitCode }: Pick<DescribedStep, 'message' | 'reason' | 'exitCode'>): string {
  if (typeof message === 'string') return message
  return reason === 'exit-code' && typeof exitCode === 'number' ? `exit code ${exitCode}` : (textOfReason(reason) ?? 'failed')
}

/** Returns the step that explains the failure of its build, which `blamedStep` chose from the plan; undefined if no step does. */
export function stepToBlame<T extends { readonly name: string }>(build: {
  readonly blame?: string | null | undefined
  readonly steps?: readonly T[] | undefined
}): T | undefined {
  return build.steps?.find(({ name }) => name === build.blame)
}

/** Returns the text for a reason, a reason of a newer version as it is, and undefined for none. */
export function textOfReason(reason: string | null | undefined): string | undefined {
  if (reason === undefined || reason === null) return undefined
  return isReason(reason) ? REASONS[reason].text : reason
}

/** Returns true for a reason of this version. */
export function isReason(reason: string): reason is Reason {
  return Object.hasOwn(REASONS, reason)
}

/** Returns a count such as `2 problems (1 error, 1 warning)`. */
export function countProblems(problems: readonly { readonly severity?: string | undefined }[]): string {
  const warnings = problems.filter(({ severity }) => severity === 'warning').length
  const errors = problems.length - warnings
  return `${plural(problems.length, 'problem')} (${plural(errors, 'error')}, ${plural(warnings, 'warning')})`
}

/** Returns a count with its noun: `1 step`, `2 steps`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function isKnownFinal(status: string): boolean {
  return isFinalBuild(status as BuildStatus)
}

function withoutStop(text: string): string {
  return text.endsWith('.') ? text.slice(0, -1) : text
}
