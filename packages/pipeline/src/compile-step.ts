/** One step of a document as a step of the plan. */
import { findReferences, nearest, nearMiss, parseDuration, type FlagTemplate, type PlanStep, type Retry } from '@windlass/plan'
import { checkFields, currentValue } from './check.ts'
import { toAction } from './compile-action.ts'
import { toWhen } from './compile-when.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import { COMMON, LATER_TYPES, STEP_TYPES } from './language.ts'
import type { Report } from './report.ts'
import type { Fields } from './shape.ts'
import { stepEntries } from './step-entries.ts'
import type { Entry, MapNode, TreeNode } from './tree.ts'
import { textOf } from './tree.ts'

export interface StepNames {
  /** Every step name with its place in the document. */
  readonly order: ReadonlyMap<string, number>
}

export interface StepPlace {
  readonly report: Report
  readonly names: StepNames
  readonly stages: readonly string[]
  /** What the step has where it says nothing. */
  readonly failFast: FlagTemplate
  /** `v1` has no `registry`, `tags` and `disable_push` on build steps. */
  readonly buildVersion: 'v1' | 'v2'
  readonly after: readonly string[]
}

const MAX_NAME = 150
const FORBIDDEN_IN_NAME = /[.#$[\]]/

/** Checks a step and compiles it; undefined when it cannot run. Problems are in the report. */
export function compileStep(entry: Entry, place: StepPlace): PlanStep | undefined {
  const { report } = place
  const path = `steps.${entry.key}`
  checkName(entry, path, report)
  if (entry.value.kind !== 'map') {
    report.error('wrong-type', entry.keyRange, `"${entry.key}" must be an object`, {
      path,
      hint: 'Indent the fields of the step below its name.',
    })
    return undefined
  }
  const type = typeOf(entry.value, path, report)
  const known = Object.hasOwn(STEP_TYPES, type) ? STEP_TYPES[type] : undefined
  const entries = stepEntries(entry.value, known, { report, path })
  const fields: Fields = { ...COMMON, ...known?.fields }
  checkFields(entries, fields, {
    spot: { key: entry.key, path },
    report,
    open: known === undefined || known.open,
    range: entry.keyRange,
  })
  if (known?.open === true) warnOfUnknown(entries, fields, { report, path, type })
  checkReferences(entries, { report, path, names: place.names })
  known?.rule?.(entries, { report, path, range: entry.keyRange, buildVersion: place.buildVersion })
  return toStep(entry, entries, { ...place, type, path })
}

function toStep(entry: Entry, entries: Entries, place: StepPlace & { type: string; path: string }): PlanStep | undefined {
  const { report, path } = place
  const stage = checkStage(entries, place)
  const when = toWhen(entries, { report, path, step: entry.key, names: place.names })
  const action = toAction(place.type, entries)
  const timeout = toTimeout(entries, { report, path })
  const retry = toRetry(entries, { report, path })
  if (action === undefined) return undefined
  return {
    name: entry.key,
    title: read.text(entries, 'title') ?? entry.key,
    ...read.when('stage', stage),
    after: place.after,
    ...read.when('when', when),
    failFast: read.flag(entries, 'fail_fast') ?? place.failFast,
    strictFailFast: read.flag(entries, 'strict_fail_fast') ?? false,
    ...read.when('timeout', timeout),
    retry,
    action,
    position: report.source.placeOf(entry.keyRange.start),
  }
}

interface Spot {
  readonly report: Report
  readonly path: string
}

function checkName({ key, keyRange }: Entry, path: string, report: Report): void {
  if (FORBIDDEN_IN_NAME.test(key)) {
    report.error(
      'step-name',
      keyRange,
      `step name cannot contain ".", "#", "$", "[", or "]". Current value: ${key.slice(0, 60)}`,
      { path },
    )
  }
  if (key.length > MAX_NAME) report.error('step-name', keyRange, `step name length is limited to ${MAX_NAME}`, { path })
  if (key.trim() === '') report.error('step-name', keyRange, 'step name is not allowed to be empty', { path })
}

/** The type as written; `freestyle` when nothing is. Reports types that this version does not run. */
function typeOf(step: MapNode, path: string, report: Report): string {
  const written = step.entries.get('type')?.value
  const type = textOf(written)
  if (written === undefined) return 'freestyle'
  if (type === undefined || Object.hasOwn(STEP_TYPES, type)) return type ?? ''
  const close = nearMiss(type, [...Object.keys(STEP_TYPES), ...LATER_TYPES])
  const inLanguage = LATER_TYPES.some((later) => later === type)
  const details = {
    path: `${path}.type`,
    hint: `This version runs ${Object.keys(STEP_TYPES).join(', ')}.`,
    ...(close !== undefined && !inLanguage && { suggestion: { from: type, to: close } }),
  }
  const message = inLanguage
    ? `steps of type "${type}" are not yet supported`
    : `typed steps such as "${type}" are not yet supported`
  const question = details.suggestion === undefined ? '' : `. Did you mean "${details.suggestion.to}"?`
  report.error('not-yet-supported', written.range, `${message}${question}`, details)
  return type
}

/** Types that let unknown fields pass still deserve a word about them: they have no effect. */
function warnOfUnknown(entries: Entries, fields: Fields, { report, path, type }: Spot & { type: string }): void {
  for (const { key, keyRange } of entries.values()) {
    if (Object.hasOwn(fields, key) || (type === 'freestyle' && key === 'registry_contexts')) continue
    const close = nearest(key, Object.keys(fields))
    const message = `"${key}" is no field of ${type} steps and has no effect${close === undefined ? '' : `. Did you mean "${close}"?`}`
    report.warning('unknown-key', keyRange, message, {
      path: `${path}.${key}`,
      ...(close !== undefined && { suggestion: { from: key, to: close } }),
    })
  }
}

function checkStage(entries: Entries, { stages, report, path }: StepPlace & { path: string }): string | undefined {
  const stage = read.text(entries, 'stage')
  const written = read.node(entries, 'stage')
  if (stage === undefined || written === undefined || stages.includes(stage)) return stage
  const close = nearMiss(stage, stages)
  report.error('unknown-stage', written.range, `"stage" must be one of [${stages.join(', ')}]. Current value: ${stage}`, {
    path: `${path}.stage`,
    hint: stages.length === 0 ? 'List it under "stages" at the root.' : '',
    ...(close !== undefined && { suggestion: { from: stage, to: close } }),
  })
  return undefined
}

/** A time limit that cannot be read is ignored with a warning; none, null and `0s` mean no limit. */
function toTimeout(entries: Entries, { report, path }: Spot): string | undefined {
  const written = read.node(entries, 'timeout')
  if (written === undefined) return undefined
  const text = textOf(written)
  if (text !== undefined && (parseDuration(text) !== undefined || text.includes('${{')))
    return parseDuration(text) === 0 ? undefined : text
  const problem = text === undefined ? 'must be a string' : 'must be a number followed by s, m or h'
  report.warning('timeout-ignored', written.range, `"timeout" ${problem}${currentValue(written)}`, {
    path: `${path}.timeout`,
    hint: 'The value is ignored. Write for example "90s", "10m" or "1.5h".',
  })
  return undefined
}

const RETRY_RANGES = { maxAttempts: [1, 10, 1], delay: [5, 60, 5], exponentialFactor: [1, 5, 1] } as const

function toRetry(entries: Entries, { report, path }: Spot): Retry {
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

/** `${{steps.NAME...}}` with a NAME that does not exist can never be filled in. */
function checkReferences(entries: Entries, { report, path, names }: Spot & { names: StepNames }): void {
  for (const { key, value } of entries.values()) {
    if (key === 'when') continue
    for (const scalar of scalarsOf(value)) {
      for (const { name } of findReferences(textOf(scalar) ?? '')) {
        const step = /^\s*steps\.([^.]+)/.exec(name)?.[1]
        if (step === undefined || names.order.has(step)) continue
        const close = nearMiss(step, [...names.order.keys()])
        const message = `there is no step "${step}"${close === undefined ? '' : `. Did you mean "${close}"?`}`
        const details = { path: `${path}.${key}`, ...(close !== undefined && { suggestion: { from: step, to: close } }) }
        if (key === 'working_directory') report.error('unknown-step', scalar.range, message, details)
        else
          report.warning('unknown-step', scalar.range, message, { ...details, hint: 'The reference stays in the text as it is.' })
      }
    }
  }
}

function* scalarsOf(node: TreeNode): Generator<TreeNode> {
  if (node.kind === 'scalar') yield node
  else if (node.kind === 'list') for (const item of node.items) yield* scalarsOf(item)
  else for (const { value } of node.entries.values()) yield* scalarsOf(value)
}
