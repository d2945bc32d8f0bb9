/** Drafts the steps of a mapping, with everything that is generated from them. */
import { draftHooks } from './draft-hooks.ts'
import { expand, isExpanded } from './expand-matrix.ts'
import type { Entries } from '../language/fields.ts'
import { readType } from './read-type.ts'
import type { Draft, DraftBody } from './step-draft.ts'
import { stepEntries } from './step-entries.ts'
import { withoutUnusable } from './unusable-fields.ts'
import { findTyped, typedPlace } from '../typed/draft-typed.ts'
import type { Entry, MapNode, TreeNode } from '../syntax/tree.ts'
import { findType } from '../actions/index.ts'
import { UNKNOWN_TYPE } from '../language/type-fields.ts'
import type { DraftPlace, DraftName } from './drafting.ts'
import { type Typed, addDraft } from './add-draft.ts'

const MAX_NAME = 150
const FORBIDDEN_IN_NAME = /[.#$[\]]/

/** Drafts the steps of a mapping in order. Reports problems of names and types. */
export function draftSteps(written: TreeNode | undefined, place: DraftPlace): Draft[] {
  if (written?.kind !== 'map') return []
  const drafts: Draft[] = []
  for (const entry of written.entries.values()) {
    const before = drafts.at(-1)
    const after = place.mode === 'serial' && before !== undefined ? [before.name] : []
    const draft = draftEntry(entry, after, place)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

function draftEntry(entry: Entry, after: readonly string[], place: DraftPlace): Draft | undefined {
  const path = `${place.path}.${entry.key.slice(0, MAX_NAME)}`
  checkName(entry, path, place)
  const { value } = entry
  if (value.kind !== 'map') {
    place.report.error('wrong-type', entry.keyRange, `"${entry.key}" must be an object`, {
      path,
      hint: 'Indent the fields of the step below its name.',
    })
    return undefined
  }
  if (isMisplacedCondition(entry.key, value)) {
    place.report.error('not-allowed', entry.keyRange, `"${entry.key}" is not a step and has no effect here`, {
      path,
      hint: entry.key === 'when' ? 'Move it below the name of a step.' : 'Move it below "when" of a step.',
    })
    return undefined
  }
  return draftStep(value, { key: entry.key, name: `${place.prefix}${entry.key}`, range: entry.keyRange, path, after }, place)
}

/** Returns true for a condition that is indented wrongly, so that it looks like a step named `when`. */
function isMisplacedCondition(key: string, { entries }: MapNode): boolean {
  const parts =
    key === 'when'
      ? ['branch', 'condition', 'steps']
      : key === 'condition'
        ? ['all', 'any']
        : key === 'branch'
          ? ['only', 'ignore']
          : []
  return parts.length > 0 && entries.size > 0 && [...entries.keys()].every((one) => parts.includes(one))
}

/** Drafts one step with everything generated from it: a group for `scale` and `matrix`, the steps of a parallel step, its hooks. */
export function draftStep(step: MapNode, named: DraftName, place: DraftPlace): Draft | undefined {
  const { report } = place
  const { path } = named
  const type =
    readType(step, { report, path, variables: place.drafting.variables, catalog: place.drafting.typed.catalog }) ?? UNKNOWN_TYPE
  const known = findType(type)
  const entries = stepEntries(step, known, { report, path })
  if (isExpanded(entries) && type === 'parallel') return forbidExpanded(entries, path, report)
  if (!isExpanded(entries)) return draftTyped({ type, known, entries }, named, place)
  const { group, variations } = expand(entries, { ...named, report, drafting: place.drafting, type })
  const made: DraftBody = { kind: 'group', mode: 'parallel', made: 'matrix' }
  const parent = addDraft({ type: 'parallel', known: undefined, entries: group, body: made }, named, place)
  if (parent === undefined) return undefined
  const inside: DraftPlace = { ...place, parent, mode: 'parallel' }
  for (const one of variations) {
    const name = one.numbered ? `${named.name}_${one.key}` : `${place.prefix}${one.key}`
    const key = one.numbered ? `${named.key}_${one.key}` : one.key
    if (!one.numbered) checkName({ key, keyRange: one.range }, one.path, place)
    const child = draftTyped(
      { type: one.type, known: findType(one.type), entries: one.entries },
      { key, name, range: one.range, path: one.path, after: [] },
      inside,
    )
    if (child !== undefined) parent.children.push(child)
  }
  return parent
}

/** Rejects `scale` and `matrix` on parallel steps, because each copy would need the same names inside. */
function forbidExpanded(entries: Entries, path: string, report: DraftPlace['report']): undefined {
  const entry = entries.get('scale') ?? entries.get('matrix')
  if (entry === undefined) return
  report.error('not-allowed', entry.keyRange, `"${entry.key}" is not allowed on parallel steps`, {
    path: `${path}.${entry.key}`,
    hint: 'Move it to the steps inside.',
  })
}

function draftTyped(typed: Typed, named: DraftName, place: DraftPlace): Draft | undefined {
  if (typed.type === 'pending-approval') checkApproval(typed.entries, named, place)
  const isTyped = typed.known === undefined && typed.type !== UNKNOWN_TYPE
  const { body, expansion } = isTyped ? findTyped({ ...typed, ...named }, place) : { body: bodyOf(typed), expansion: undefined }
  const entries = isTyped || typed.type === 'parallel' ? withoutUnusable(typed.entries, named, place) : typed.entries
  const draft = addDraft({ ...typed, entries, body }, named, place)
  if (draft === undefined) return undefined
  if (expansion !== undefined) {
    const inside = typedPlace(draft, place, expansion)
    draft.children.push(...draftSteps(inside.steps, inside.place))
  }
  if (typed.type === 'parallel') draftChildren(draft, place)
  draftHooks(draft, place)
  return draft
}

function bodyOf({ type, known }: Typed): DraftBody {
  if (known === undefined) return { kind: 'unknown' }
  return type === 'parallel' ? { kind: 'group', mode: 'parallel', made: 'parallel' } : { kind: 'step' }
}

/** Rejects approvals in hooks and parallel steps: an approval ends the attempt, so nothing may run at the same time. */
function checkApproval(entries: Entries, { path, range }: DraftName, { parent, hookOf, report }: DraftPlace): void {
  const where = entries.get('type')?.value.range ?? range
  if (hookOf !== undefined) {
    report.error('not-allowed', where, '"type" can\'t be pending-approval inside a hook', { path: `${path}.type` })
  } else if (parent?.body.kind === 'group' && parent.body.mode === 'parallel') {
    report.error('not-allowed', where, '"type" can\'t be pending-approval inside a parallel step', {
      path: `${path}.type`,
      hint: 'Move the approval before or after the parallel step.',
    })
  }
}

function draftChildren(draft: Draft, place: DraftPlace): void {
  const entry = draft.entries.get('steps')
  if (entry === undefined) return
  const path = `${draft.path}.steps`
  const value = toNamed(entry.value, draft)
  if (value.kind !== 'map') {
    draft.report.error('wrong-type', value.range, '"steps" must be an object', {
      path,
      hint: 'Write each step name as a key below "steps".',
    })
    return
  }
  if (value.entries.size === 0)
    draft.report.error('empty-value', value.range, '"steps" must contain at least 1 entries', { path })
  draft.children.push(...draftSteps(value, { ...place, path, parent: draft, mode: 'parallel' }))
}

/**
 * Converts a list of steps to a mapping. An item with one key below which a step is written has this name; other items are steps without a name and get
 * their number.
 */
function toNamed(steps: TreeNode, { key: parent, path, report }: Draft): TreeNode {
  if (steps.kind !== 'list' || steps.items.some(({ kind }) => kind !== 'map')) return steps
  const entries = new Map<string, Entry>()
  for (const [index, item] of steps.items.entries()) {
    const [only, more] = item.kind === 'map' ? [...item.entries.values()] : []
    const named = only !== undefined && more === undefined && only.value.kind === 'map' ? only : undefined
    const key = named?.key ?? `${parent}_${index + 1}`
    if (entries.has(key))
      report.error('duplicate-step', item.range, `step name exist more than once. Current value: ${key}`, {
        path: `${path}.steps`,
      })
    else entries.set(key, named ?? { key, keyRange: item.range, value: item })
  }
  return { kind: 'map', range: steps.range, entries }
}

function checkName({ key, keyRange }: Pick<Entry, 'key' | 'keyRange'>, path: string, { report }: DraftPlace): void {
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
