/** Settings that every step may have: time limit, retries, breakpoints, environment record. */
import { BREAKPOINTS, parseDuration } from '@windlass/plan'
import type { Breakpoint, EnvironmentRecord, Retry } from '@windlass/plan'
import { currentValue } from './check.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import type { Report } from './report.ts'
import type { Draft, Drafting } from './step-draft.ts'
import type { Entry, TreeNode } from './tree.ts'
import { child, textOf } from './tree.ts'

/** Types whose `timeout` means something else. */
const OWN_TIMEOUT = ['pending-approval', 'deploy']

/**
 * The time limit of a step as written, its own or that of the parallel step around it, which has none itself (pipeline language 3.9).
 * `null` and `0s` mean no limit; one that cannot be read is ignored with a warning.
 */
export function toTimeout(draft: Draft): string | undefined {
  if (OWN_TIMEOUT.includes(draft.type)) return undefined
  const own = ownTimeout(draft)
  if (own === 'wrong') {
    const written = draft.entries.get('timeout')?.value
    if (written !== undefined) reportTimeout(written, draft)
  }
  return handsDown(draft) ? undefined : limitOf(draft)
}

/** True for groups whose time limit is that of each step inside. */
function handsDown({ body }: Draft): boolean {
  return body.kind === 'group' && (body.made === 'parallel' || body.made === 'matrix')
}

function limitOf(draft: Draft): string | undefined {
  for (let at: Draft | undefined = draft; at !== undefined; at = at.parent) {
    if (at !== draft && !handsDown(at)) return undefined
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
    hint: 'The value is ignored. Write for example "90s", "10m" or "1.5h".',
  })
}

const RETRY_RANGES = { maxAttempts: [1, 10, 1], delay: [5, 60, 5], exponentialFactor: [1, 5, 1] } as const

/** `retry`, its numbers moved into their ranges with a warning. */
export function toRetry(entries: Entries, { report, path }: { readonly report: Report; readonly path: string }): Retry {
  const written = read.map(entries, 'retry')?.entries ?? new Map<string, Entry>()
  const within = (key: keyof typeof RETRY_RANGES): number => {
    const [least, most, usual] = RETRY_RANGES[key]
    const value = read.number(written, key)
    if (value === undefined) return usual
    const moved = Math.min(Math.max(value, least), most)
    const range = written.get(key)?.value.range
    if (moved !== value && value > 0 && range !== undefined) {
      report.warning(
        'retry-range',
        range,
        `"${key}" must be from ${least} to ${most}; ${moved} is used. Current value: ${value}`,
        { path: `${path}.retry.${key}` },
      )
    }
    return moved
  }
  return { maxAttempts: within('maxAttempts'), delayMs: within('delay') * 1_000, factor: within('exponentialFactor') }
}

/** Breakpoints of the step itself and of `spec.debug`; undefined when there are none. */
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
  if (override !== undefined && type !== 'freestyle' && known !== undefined) {
    report.error('not-allowed', override.keyRange, '"override" is allowed on freestyle steps only', {
      path: `${path}.phases.override`,
    })
  }
  return BREAKPOINTS.filter((phase) => read.flag(phases.entries, phase) === true)
}

/** `env`: the environment that a success updates. */
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
