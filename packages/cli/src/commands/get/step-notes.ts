/** What `describe build` says about single steps below its tables: why a condition did not hold, and what is known about the failed step. */
import { formatBytes } from '@windlass/plan'
import type { Build, BuildStep, StepWhen } from '@windlass/protocol'

type Part = StepWhen['parts'][number]

/** Returns a line for each part of a condition that did not hold, and the image, log and hint of the step to blame. */
export function stepNotes({ steps = [], blame }: Pick<Build, 'steps' | 'blame'>): string[] {
  const failed = steps.find(({ name }) => name === blame)
  return [...steps.flatMap(conditionNotes), ...(failed === undefined ? [] : failureNotes(failed))]
}

function conditionNotes({ name, when }: BuildStep): string[] {
  if (when?.holds !== 'no') return []
  const unmet = when.parts.filter(({ holds }) => holds === 'no')
  const hidden = when.parts.filter(({ values, holds }) => holds === undefined && values.some(({ isSecret }) => isSecret))
  return (unmet.length === 0 ? hidden : unmet).map((part) => `${name} did not run: ${textOf(part)}${valuesOf(part)}`)
}

function textOf({ part, label, text, holds }: Part): string {
  if (part === 'branch') return `the branch must be ${text}`
  if (part === 'steps') return `${label ?? 'a step'} must be ${text}`
  return holds === undefined
    ? `the condition "${label ?? ''}" reads a secret: ${text}`
    : `the condition "${label ?? ''}" is false: ${text}`
}

function valuesOf({ values }: Part): string {
  if (values.length === 0) return ''
  const texts = values.map(({ name, value, isSecret }) => `${name}=${isSecret ? '*****' : (value ?? '(not set)')}`)
  return ` (${texts.join(', ')})`
}

function failureNotes({ name, image, logs = [], hint }: BuildStep): string[] {
  const last = logs.at(-1)
  const size = last === undefined ? undefined : `${last.lines ?? '?'} lines, ${formatBytes(last.bytes)}`
  return [
    ...(image === undefined ? [] : [`Image of ${name}: ${image.name}${image.digest === undefined ? '' : ` (${image.digest})`}`]),
    ...(size === undefined ? [] : [`Log of ${name}: ${size}`]),
    ...(hint === undefined ? [] : [`Hint for ${name}: ${hint}`]),
  ]
}
