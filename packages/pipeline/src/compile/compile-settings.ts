/** Compiles settings that every step can have: timeout, retries, breakpoints, environment record. */
import { BREAKPOINTS, findActionKind, parseDuration } from '@windlass/plan'
import type { Breakpoint, EnvironmentRecord, Retry } from '@windlass/plan'
import { currentValue } from '../language/check.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import type { Report } from '../syntax/report.ts'
import type { Draft } from '../draft/step-draft.ts'
import type { Entry, TreeNode } from '../syntax/tree.ts'
import { child, textOf } from '../syntax/tree.ts'
import type { Drafting } from '../draft/drafting.ts'

/**
 * Returns the timeout of a step as written: its own, or the one of the parallel step around it, which has none itself. `null` and `0s` mean no
 * limit. Warns about an invalid timeout and ignores it.
 */
export function toTimeout(draft: Draft): string | undefined {
  if (hasOtherTimeout(draft)) return undefined
  const own = ownTimeout(draft)
  if (own === 'wrong') {
    const written = draft.entries.get('timeout')?.value
    if (written !== undefined) reportTimeout(written, draft)
  }
  return passesTimeoutDown(draft) ? undefined : limitOf(draft)
}

/** Returns true for types whose `timeout` has another meaning, so that their tables have the field. */
function hasOtherTimeout({ body, known }: Draft): boolean {
  return body.kind === 'step' && known !== undefined && Object.hasOwn(known.fields, 'timeout')
}

/** Returns true for groups whose timeout applies to each step inside. */
function passesTimeoutDown({ body }: Draft): boolean {
  return body.kind === 'group' && (body.made === 'parallel' || body.made === 'matrix')
}

function limitOf(draft: Draft): string | undefined {
  for (let at: Draft | undefined = draft; at !== undefined; at = at.parent) {
    if (at !== draft && !passesTimeoutDown(at)) return undefined
    const own = ownTimeout(at)
    if (own === 'none') return undefined
    if (own !== undefined && own !== 'wrong') return own.limit
  }
  return undefined
}

function ownTimeout({ entries }: Draft): undefined | 'none' | 'wrong' | { readonly limit: string } {
  const written = entries.get('timeout')?.value
  if (written === undefined) return undefined
  if (written.kind === 'scalar' && written.value === null) return 'none'
  const text = textOf(written)
  if (text === undefined) return 'wrong'
  const duration = parseDuration(text)
  if (duration === 0) return 'none'
  return duration !== undefined || text.includes('${{') ? { limit: text } : 'wrong'
}

function reportTimeout(written: TreeNode, { report, path }: Draft): void {
  const problem = textOf(written) === undefined ? 'must be a string' : 'must be a number followed by s, m or h'
  report.warning('timeout-ignored', written.range, `"timeout" ${problem}${currentValue(written)}`, {
    path: `${path}.timeout`,
    hint: 'The value is ignored. Use a duration such as "90s", "10m" or "1.5h".',
  })
}

const RETRY_RANGES = { maxAttempts: [1, 10, 1], delay: [5, 60, 5], exponentialFactor: [1, 5, 1] } as const

/** Compiles `retry`. Moves numbers into their ranges with a warning. */
export function toRetry(entries: Entries, { report, path }: { readonly report: Report; readonly path: string }): Retry {
  const written = read.map(entries, 'retry')?.entries ?? new Map<string, Entry>()
  const within = (key: keyof typeof RETRY_RANGES): number => {
    const [least, most, fallback] = RETRY_RANGES[key]
    const value = read.number(written, key)
    if (value === undefined) return fallback
    const moved = Math.min(Math.max(value, least), most)
    const range = written.get(key)?.value.range
    if (moved !== value && value > 0 && range !== undefined) {
      report.warning(
        'retry-range',
        range,
        `"${key}" must be between ${least} and ${most}; ${moved} is used. Current value: ${value}`,
        { path: `${path}.retry.${key}` },
      )
    }
    return moved
  }
  return { maxAttempts: within('maxAttempts'), delayMs: within('delay') * 1_000, factor: within('exponentialFactor') }
}

/** Returns the breakpoints of the step and of `spec.debug`, or undefined if there are none. */
export function toBreakpoints(draft: Draft, { breakpoints }: Drafting): readonly Breakpoint[] | undefined {
  const own = phasesOf(read.node(draft.entries, 'debug'), draft, `${draft.path}.debug`)
  const stored =
    draft.hook === undefined && draft.hookOf === undefined
      ? phasesOf(breakpoints.get(draft.name), draft, `spec.debug.steps.${draft.name}`)
      : []
  const all = BREAKPOINTS.filter((phase) => own.includes(phase) || stored.includes(phase))
  return all.length === 0 ? undefined : all
}

function phasesOf(debug: TreeNode | undefined, { type, report, known }: Draft, path: string): Breakpoint[] {
  const phases = child(debug, 'phases')
  if (phases?.kind !== 'map') return []
  const override = phases.entries.get('override')
  if (override !== undefined && known !== undefined && findActionKind(type)?.canOverride !== true) {
    report.error('not-allowed', override.keyRange, '"override" is only allowed on freestyle steps', {
      path: `${path}.phases.override`,
    })
  }
  return BREAKPOINTS.filter((phase) => read.flag(phases.entries, phase) === true)
}

/** Compiles `env`: the environment that is updated when the step succeeds. */
export function toEnvironmentRecord(entries: Entries): EnvironmentRecord | undefined {
  const env = read.map(entries, 'env')?.entries
  const name = env === undefined ? undefined : read.text(env, 'name')
  if (env === undefined || name === undefined) return undefined
  return {
    name,
    type: read.text(env, 'type') === 'helm-release' ? 'helm-release' : 'kubernetes',
    ...read.when('change', read.text(env, 'change')),
    endpoints: itemsOf(env, 'endpoints').flatMap((item) => {
      const endpoint = textOf(child(item, 'name'))
      const url = textOf(child(item, 'url'))
      return endpoint === undefined || url === undefined ? [] : [{ name: endpoint, url }]
    }),
    filters: itemsOf(env, 'filters').flatMap((item) => (item.kind === 'map' ? [read.jsonObject(item)] : [])),
  }
}

function itemsOf(entries: Entries, key: string): readonly TreeNode[] {
  const list = read.node(entries, key)
  return list?.kind === 'list' ? list.items : []
}
