/** Checks a step against the field tables and checks the references in its texts. */
import { findReferences, nearMiss } from '@windlass/plan'
import { checkFields, currentValue, suggestField } from '../language/check.ts'
import { checkContext } from '../context/check-context.ts'
import { didYouMean } from '../language/did-you-mean.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { COMMON } from '../language/language.ts'
import type { Fields } from '../language/shape.ts'
import type { Draft } from './step-draft.ts'
import { typeFields } from '../language/type-fields.ts'
import type { TreeNode } from '../syntax/tree.ts'
import { textOf } from '../syntax/tree.ts'
import type { Drafting } from './drafting.ts'

/** Reports the problems of a step's fields. */
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
    checkContext(draft, { ...place, account: drafting.account, mayNotRun: mayNotRun(draft) })
  } else if (body.kind === 'group' && body.made === 'matrix') {
    checkFields(entries, COMMON, { spot: { key: draft.key, path }, report, open: false, range })
  }
  if (body.kind === 'step') forbidCriteria(draft)
  checkStage(draft, drafting)
  checkReferences(draft, drafting)
}

/** Returns true for a step with a condition, its own or of a step around it, and for on_success and on_fail hooks. */
function mayNotRun({ entries, parent, hook }: Draft): boolean {
  if (entries.has('when') || hook?.moment === 'on_success' || hook?.moment === 'on_fail') return true
  return parent !== undefined && mayNotRun(parent)
}

/** Number of stages that a wrong one is compared with, and that a message names. */
const MAX_COMPARED = 100
const MAX_SHOWN = 20
/** Maximum length of a stage in a message. */
const MAX_STAGE = 60

function forbidCriteria({ entries, report, path }: Draft): void {
  const criteria = entries.get('success_criteria')
  if (criteria === undefined) return
  report.error('not-allowed', criteria.keyRange, '"success_criteria" is only allowed on steps that contain steps', {
    path: `${path}.success_criteria`,
    hint: 'Use it on parallel steps, on steps with "scale" or "matrix", or at the root.',
  })
}

const PARTS_OF_WHEN = ['branch', 'condition']

/** Reports parts of `when` that are written on the step itself, and removes them, so that they are not reported as unknown fields. */
function withoutMisplaced({ entries, report, path }: Draft, fields: Fields): Entries {
  const misplaced = PARTS_OF_WHEN.filter((key) => entries.get(key)?.value.kind === 'map' && !Object.hasOwn(fields, key))
  if (misplaced.length === 0) return entries
  for (const key of misplaced) {
    const range = entries.get(key)?.keyRange
    if (range !== undefined)
      report.error('not-allowed', range, `"${key}" has no effect outside "when"`, {
        path: `${path}.${key}`,
        hint: 'Move it below "when" of the step.',
      })
  }
  return new Map([...entries].filter(([key]) => !misplaced.includes(key)))
}

/** Warns about unknown fields of types that accept any field: they have no effect. */
function warnOfUnknown({ entries, report, path, type }: Draft, fields: Fields): void {
  for (const { key, keyRange } of entries.values()) {
    if (Object.hasOwn(fields, key) || REFUSED_ELSEWHERE.includes(key)) continue
    const close = suggestField(key, fields, report)
    const article = /^[aeiou]/.test(type) ? 'an' : 'a'
    const message = `unknown field "${key}" in ${article} ${type} step; it has no effect${didYouMean(close)}`
    report.warning('unknown-key', keyRange, message, {
      path: `${path}.${key}`,
      ...(close !== undefined && { suggestion: { from: key, to: close } }),
    })
  }
}

/** Fields that the rules of the types report. */
const REFUSED_ELSEWHERE = ['registry_context', 'registry_contexts']

function checkStage({ entries, report, path }: Draft, { stages }: Drafting): void {
  const stage = read.text(entries, 'stage')
  const written = read.node(entries, 'stage')
  if (stage === undefined || written === undefined || stages.has(stage)) return
  // A document can list thousands of stages and name a wrong one just as often.
  const listed = [...stages.values().take(MAX_COMPARED)]
  const close = report.suggest(stage, stages, () => nearMiss(stage, listed))
  const shown = [
    ...listed.slice(0, MAX_SHOWN).map((name) => name.slice(0, MAX_STAGE)),
    ...(listed.length > MAX_SHOWN ? ['…'] : []),
  ]
  report.error(
    'unknown-stage',
    written.range,
    `"stage" must be one of [${shown.join(', ')}]${currentValue(written)}${didYouMean(close)}`,
    {
      path: `${path}.stage`,
      hint: listed.length === 0 ? 'Add it to "stages" at the root.' : '',
      ...(close !== undefined && { suggestion: { from: stage, to: close } }),
    },
  )
}

/** Fields whose texts are expressions or belong to other steps. */
const NOT_TEXTS = new Set(['when', 'success_criteria', 'steps', 'scale', 'matrix', 'hooks', 'on_success', 'on_fail', 'on_finish'])

/** Reports `${{steps.NAME...}}` whose step does not exist, because it can never be resolved. */
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
    const message = `step "${step}" does not exist${didYouMean(close)}`
    const details = { path: `${path}.${key}`, ...(close !== undefined && { suggestion: { from: step, to: close } }) }
    if (key === 'working_directory') report.error('unknown-step', scalar.range, message, details)
    else report.warning('unknown-step', scalar.range, message, { ...details, hint: 'The reference stays in the text.' })
  }
}

function* scalarsOf(node: TreeNode): Generator<TreeNode> {
  if (node.kind === 'scalar') yield node
  else if (node.kind === 'list') for (const item of node.items) yield* scalarsOf(item)
  else for (const { value } of node.entries.values()) yield* scalarsOf(value)
}
