/** What the tables say about a step, and the references in its texts. */
import { findReferences, nearest, nearMiss } from '@windlass/plan'
import { checkFields, currentValue } from './check.ts'
import { checkContext } from './context/check-context.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import { COMMON } from './language.ts'
import type { Fields } from './shape.ts'
import type { Draft, Drafting } from './step-draft.ts'
import { typeFields } from './type-fields.ts'
import type { TreeNode } from './tree.ts'
import { textOf } from './tree.ts'

/** Reports what is wrong with the fields of a step. */
export function checkDraft(draft: Draft, drafting: Drafting): void {
  const { body, entries, report, path, known, range } = draft
  if (
    body.kind === 'step' ||
    (body.kind === 'group' && (body.made === 'parallel' || body.made === 'typed')) ||
    body.kind === 'unknown'
  ) {
    const { fields } = typeFields(known)
    const open = known === undefined || known.open
    const placed = withoutMisplaced(draft, fields)
    checkFields(placed, fields, { spot: { key: draft.key, path }, report, open, range })
    if (body.kind !== 'unknown' && open) warnOfUnknown({ ...draft, entries: placed }, fields)
    const place = { report, path, range, buildVersion: drafting.buildVersion }
    known?.rule?.(entries, place)
    checkContext({ type: draft.type, entries }, { ...place, account: drafting.account, mayNotRun: mayNotRun(draft) })
  } else if (body.kind === 'group' && body.made === 'matrix') {
    checkFields(entries, COMMON, { spot: { key: draft.key, path }, report, open: false, range })
  }
  if (body.kind === 'step') forbidCriteria(draft)
  checkStage(draft, drafting)
  checkReferences(draft, drafting)
}

/** True for a step with a condition of its own or around it, and for hooks that run after one of two ends. */
function mayNotRun({ entries, parent, hook }: Draft): boolean {
  if (entries.has('when') || hook?.moment === 'on_success' || hook?.moment === 'on_fail') return true
  return parent !== undefined && mayNotRun(parent)
}

/** Longer words are near to nothing, and cost much to compare. */
const MAX_SUGGESTED = 60

function forbidCriteria({ entries, report, path }: Draft): void {
  const criteria = entries.get('success_criteria')
  if (criteria === undefined) return
  report.error('not-allowed', criteria.keyRange, '"success_criteria" needs steps inside', {
    path: `${path}.success_criteria`,
    hint: 'Parallel steps have them, steps with "scale" or "matrix", and the document itself.',
  })
}

const PARTS_OF_WHEN = ['branch', 'condition']

/** Parts of a `when` that stand on the step itself are told as that, not as fields that nobody knows. */
function withoutMisplaced({ entries, report, path }: Draft, fields: Fields): Entries {
  const misplaced = PARTS_OF_WHEN.filter((key) => entries.get(key)?.value.kind === 'map' && !Object.hasOwn(fields, key))
  if (misplaced.length === 0) return entries
  for (const key of misplaced) {
    const range = entries.get(key)?.keyRange
    if (range !== undefined)
      report.error('not-allowed', range, `"${key}" stands outside of "when", where it has no effect`, {
        path: `${path}.${key}`,
        hint: 'Put it below "when" of the step.',
      })
  }
  return new Map([...entries].filter(([key]) => !misplaced.includes(key)))
}

/** Types that let unknown fields pass still deserve a word about them: they have no effect. */
function warnOfUnknown({ entries, report, path, type }: Draft, fields: Fields): void {
  for (const { key, keyRange } of entries.values()) {
    if (Object.hasOwn(fields, key) || REFUSED_ELSEWHERE.includes(key)) continue
    const close = report.isFull || key.length > MAX_SUGGESTED ? undefined : nearest(key, Object.keys(fields))
    const message = `"${key}" is no field of ${type} steps and has no effect${close === undefined ? '' : `. Did you mean "${close}"?`}`
    report.warning('unknown-key', keyRange, message, {
      path: `${path}.${key}`,
      ...(close !== undefined && { suggestion: { from: key, to: close } }),
    })
  }
}

/** Reported by the rules of the types. */
const REFUSED_ELSEWHERE = ['registry_context', 'registry_contexts']

function checkStage({ entries, report, path }: Draft, { stages }: Drafting): void {
  const stage = read.text(entries, 'stage')
  const written = read.node(entries, 'stage')
  if (stage === undefined || written === undefined || stages.has(stage)) return
  const listed = [...stages]
  const near = listed.filter((name) => name.length <= MAX_SUGGESTED).slice(0, 100)
  const close = report.isFull || stage.length > MAX_SUGGESTED ? undefined : nearMiss(stage, near)
  const shown = [...listed.slice(0, 20).map((name) => name.slice(0, MAX_SUGGESTED)), ...(listed.length > 20 ? ['…'] : [])]
  report.error('unknown-stage', written.range, `"stage" must be one of [${shown.join(', ')}]${currentValue(written)}`, {
    path: `${path}.stage`,
    hint: listed.length === 0 ? 'List it under "stages" at the root.' : '',
    ...(close !== undefined && { suggestion: { from: stage, to: close } }),
  })
}

/** Fields whose texts are expressions, or belong to steps of their own. */
const NOT_TEXTS = new Set(['when', 'success_criteria', 'steps', 'scale', 'matrix', 'hooks', 'on_success', 'on_fail', 'on_finish'])

/** `${{steps.NAME...}}` with a NAME that does not exist can never be filled in. */
function checkReferences(draft: Draft, drafting: Drafting): void {
  for (const { key, value } of draft.entries.values()) {
    if (NOT_TEXTS.has(key) || (draft.type === 'build' && key === 'metadata')) continue
    for (const scalar of scalarsOf(value)) checkTexts(scalar, { draft, drafting, key })
  }
}

function checkTexts(scalar: TreeNode, { draft, drafting, key }: { draft: Draft; drafting: Drafting; key: string }): void {
  const { report, path } = draft
  for (const { name } of findReferences(textOf(scalar) ?? '')) {
    const step = /^\s*(?:steps|parentSteps)\.([^.]+)/.exec(name)?.[1]?.trim()
    if (step === undefined || drafting.names.find(step, draft) !== undefined) continue
    const close = drafting.names.suggest(step, draft)
    const message = `there is no step "${step}"${close === undefined ? '' : `. Did you mean "${close}"?`}`
    const details = { path: `${path}.${key}`, ...(close !== undefined && { suggestion: { from: step, to: close } }) }
    if (key === 'working_directory') report.error('unknown-step', scalar.range, message, details)
    else report.warning('unknown-step', scalar.range, message, { ...details, hint: 'The reference stays in the text as it is.' })
  }
}

function* scalarsOf(node: TreeNode): Generator<TreeNode> {
  if (node.kind === 'scalar') yield node
  else if (node.kind === 'list') for (const item of node.items) yield* scalarsOf(item)
  else for (const { value } of node.entries.values()) yield* scalarsOf(value)
}
