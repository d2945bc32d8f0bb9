/** What a user can do about a failed step, from its reason and from facts about it. The command line and the web page show the same. */
import { REASONS } from '../lists.ts'
import { formatDuration } from '../duration.ts'
import { isReason, type DescribedStep } from './describe-build.ts'
import { isUnreached } from './unreached.ts'
import { formatBytes, type ShownUsage } from './usage.ts'

/** Facts about a failed step and its surroundings. Absent facts leave out the advice that needs them. */
export interface AdviceFacts {
  readonly step: DescribedStep & { readonly usage?: ShownUsage | null | undefined; readonly hint?: string | null | undefined }
  /** Names of the registry contexts of the account. */
  readonly registries?: readonly string[] | undefined
  /** Usual run time of the step: the 95th percentile of earlier builds. Milliseconds. */
  readonly usualMs?: number | undefined
}

export interface Advice {
  /** One or two sentences with what to do. */
  readonly text: string
  /** Field of the step that the advice changes, such as `memory`. */
  readonly field?: string
}

/** Maximum number of pieces of advice. */
const MAX_ADVICE = 3
/** A step that used more than this share of its memory limit was close to it. */
const CLOSE = 0.9
const GIBIBYTE = 1_073_741_824
const QUARTER = GIBIBYTE / 4

type Rule = (facts: AdviceFacts) => Advice | undefined

const RULES: Readonly<Record<string, readonly Rule[]>> = {
  'exit-code': [() => ({ text: 'The command itself failed. Its output says why.' }), closeToLimit],
  'out-of-memory': [moreMemory],
  timeout: [longerTimeout],
  'image-not-found': [knownRegistries],
  'command-not-found': [
    () => ({
      text: 'Check the spelling of the command, or set `shell` to one that the image has, such as `sh`.',
      field: 'shell',
    }),
  ],
  'clone-failed': [
    () => ({ text: 'Check that the branch or revision exists and that the Git context may read the repository.' }),
  ],
  'push-failed': [() => ({ text: 'Check that the login of the registry context may push to this repository.' })],
  'integration-missing': [() => ({ text: 'Create the context that the step names, or name one that exists.' })],
  denied: [() => ({ text: 'Restart the build to ask for approval again.' })],
}

/** Returns at most three pieces of advice about a failed step. Returns none for a step that did not fail. */
export function advise(facts: AdviceFacts): Advice[] {
  const { status, reason, hint } = facts.step
  if (status !== 'error' || reason === undefined || reason === null) return []
  if (isReason(reason) && REASONS[reason].blame === 'infra')
    return [
      {
        text: 'The infrastructure failed, not the step. Windlass repeats such attempts by itself; restart the build if it gave up.',
      },
    ]
  const found = (RULES[reason] ?? []).map((rule) => rule(facts)).filter((advice) => advice !== undefined)
  const own = hint === undefined || hint === null || hint === '' ? [] : [{ text: hint }]
  return [...own, ...found].slice(0, MAX_ADVICE)
}

function closeToLimit({ step }: AdviceFacts): Advice | undefined {
  const { memoryPeakBytes: peak, memoryLimitBytes: limit } = step.usage ?? {}
  if (peak === undefined || limit === undefined || peak < limit * CLOSE) return undefined
  return {
    text: `Its memory came close to the limit of ${formatBytes(limit)}. Ask for ${sizeFor(limit * 1.25)}.`,
    field: 'memory',
  }
}

function moreMemory({ step }: AdviceFacts): Advice {
  const limit = step.usage?.memoryLimitBytes
  if (limit === undefined) return { text: 'Increase `memory` of the runtime, or let the command use less.', field: 'memory' }
  return { text: `Its limit is ${formatBytes(limit)}. Ask for ${sizeFor(limit * 1.5)} with \`memory\`.`, field: 'memory' }
}

function longerTimeout({ usualMs }: AdviceFacts): Advice {
  if (usualMs === undefined)
    return { text: 'Increase `timeout` if the step needs longer, or look for a command that hangs.', field: 'timeout' }
  return {
    text: `It usually ends within ${formatDuration(Math.round(usualMs))}, so look for a command that hangs before you increase \`timeout\`.`,
    field: 'timeout',
  }
}

function knownRegistries({ step, registries }: AdviceFacts): Advice | undefined {
  if (isUnreached(step.message ?? '')) return undefined
  if (registries === undefined)
    return { text: 'Check the name and tag of the image, and that a registry context has a login for it.' }
  if (registries.length === 0)
    return { text: 'Check the name and tag of the image. The account has no registry context for private images.' }
  return {
    text: `Check the name and tag of the image. The registry contexts of the account are ${registries.slice(0, 5).join(', ')}.`,
  }
}

/** Returns a size in steps of 256 MiB as documents write it, such as `2560Mi` or `3Gi`. */
function sizeFor(bytes: number): string {
  const rounded = Math.ceil(bytes / QUARTER) * QUARTER
  return rounded % GIBIBYTE === 0 ? `${rounded / GIBIBYTE}Gi` : `${rounded / 1_048_576}Mi`
}
