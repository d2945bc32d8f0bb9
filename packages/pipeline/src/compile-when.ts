/** `when` of a step, with what can be said about it before anything runs: patterns, expressions, names of steps. */
import {
  checkPattern,
  ExpressionError,
  nodesOf,
  parseExpression,
  PatternError,
  toRegexParts,
  type ExpressionNode,
  type StepCondition,
  type When,
} from '@windlass/plan'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import type { Report } from './report.ts'
import type { Range } from './source.ts'
import { standingOf } from './static-checks.ts'
import type { Standing } from './static-checks.ts'
import type { Draft, Drafting } from './step-draft.ts'
import { child, offsetInScalar, textOf } from './tree.ts'
import type { MapNode, ScalarNode, TreeNode } from './tree.ts'

export interface ExpressionPlace {
  readonly report: Report
  /** Of the step, such as `steps.test`. */
  readonly path: string
  readonly drafting: Drafting
  /** The step that has the expression; undefined at the root. */
  readonly draft: Draft | undefined
  /** True for what is judged once the steps have ended, where order does not matter. */
  readonly atEnd: boolean
  /** `warning` where a wrong expression does the build no harm. */
  readonly severity: 'error' | 'warning'
}

/** The checked `when` of a step as the plan has it; undefined when there is none. */
export function toWhen(entries: Entries, place: ExpressionPlace): When | undefined {
  const written = read.map(entries, 'when')
  if (written === undefined) return undefined
  const inner = { ...place, path: `${place.path}.when` }
  const branch = read.map(written.entries, 'branch')
  const condition = read.map(written.entries, 'condition')
  const steps = read.node(written.entries, 'steps')
  return {
    ...read.when('branch', branch === undefined ? undefined : toBranch(branch, inner)),
    ...read.when('condition', condition === undefined ? undefined : toCondition(condition, inner)),
    ...read.when('steps', steps === undefined ? undefined : toSteps(steps, inner)),
  }
}

function toBranch(branch: MapNode, place: ExpressionPlace): NonNullable<When['branch']> {
  for (const key of ['only', 'ignore']) {
    const list = child(branch, key)
    for (const item of list?.kind === 'list' ? list.items : [])
      checkBranchPattern(item, `${place.path}.branch.${key}`, place.report)
  }
  return {
    ...read.when('only', read.texts(branch.entries, 'only')),
    ...read.when('ignore', read.texts(branch.entries, 'ignore')),
  }
}

function checkBranchPattern(item: TreeNode, path: string, report: Report): void {
  const parts = toRegexParts(textOf(item) ?? '')
  if (parts === undefined) return
  try {
    checkPattern(parts.source, parts.flags)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    report.error('pattern', item.range, `the regular expression cannot be used: ${error.message}`, { path })
  }
}

/** Labelled expressions, each checked. */
export function toCondition(condition: MapNode, place: ExpressionPlace): NonNullable<When['condition']> {
  const labelled = (key: 'all' | 'any'): Record<string, string> | undefined => {
    const map = read.map(condition.entries, key)
    if (map === undefined) return undefined
    const texts: Record<string, string> = {}
    for (const { key: label, value } of map.entries.values()) {
      if (value.kind !== 'scalar' || typeof value.value !== 'string') continue
      texts[label] = value.value
      checkExpression(value, value.value, { ...place, path: `${place.path}.condition.${key}.${label}` })
    }
    return texts
  }
  return { ...read.when('all', labelled('all')), ...read.when('any', labelled('any')) }
}

/** Reports an expression that cannot be read, and names in it that mean nothing. */
export function checkExpression(node: ScalarNode, text: string, place: ExpressionPlace): void {
  const rangeAt = (at: number): Range => {
    const start = offsetInScalar(node, place.report.source.text, at)
    return { start, end: start + 1 }
  }
  try {
    for (const part of nodesOf(parseExpression(text))) checkNode(part, rangeAt(part.at), place)
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    place.report[place.severity]('expression', rangeAt(error.at), `the expression is wrong: ${error.message}`, {
      path: place.path,
    })
  }
}

function checkNode(node: ExpressionNode, range: Range, place: ExpressionPlace): void {
  if (node.kind === 'path') checkPath(node.path, range, place)
  if (node.kind === 'chain') checkComparison(node, range, place)
  if (node.kind === 'reference') checkReference(node.name, range, place)
  for (const part of node.kind === 'text' ? node.parts : []) if (typeof part !== 'string') checkReference(part.name, range, place)
}

function checkPath(path: readonly string[], range: Range, place: ExpressionPlace): void {
  const [first = '', second = ''] = path
  if (first === 'workflow' && second === 'result') return
  checkStepName(first === 'steps' || first === 'parentSteps' ? second : first, range, { ...place, on: undefined })
}

/** `${{steps.NAME...}}` in an expression; other references may be variables that are not known yet. */
function checkReference(name: string, range: Range, place: ExpressionPlace): void {
  const step = /^\s*(?:steps|parentSteps)\.([^.]+)/.exec(name)?.[1]?.trim()
  if (step !== undefined) checkStepName(step, range, { ...place, on: undefined })
}

const RESULTS = [
  'approved',
  'denied',
  'failure',
  'pending',
  'pending-approval',
  'running',
  'skipped',
  'success',
  'terminated',
  'terminating',
]

/** A result compared with a word that it never is: always false, which is a mistake. */
function checkComparison(chain: ExpressionNode & { kind: 'chain' }, range: Range, place: ExpressionPlace): void {
  const operands = [chain.first, ...chain.rest.map(({ right }) => right)]
  if (!chain.rest.some(({ operator }) => /^[=!]==?$/.test(operator)) || !operands.some(isResult)) return
  for (const operand of operands) {
    const [only, more] = operand.kind === 'text' ? operand.parts : []
    if (typeof only !== 'string' || more !== undefined || RESULTS.includes(only)) continue
    const hint =
      only === 'error'
        ? 'A failed step has the result "failure".'
        : only === 'finished'
          ? 'Use when.steps with "on: [finished]".'
          : ''
    place.report.warning('never-true', range, `a result is never "${only}"`, { path: place.path, hint })
  }
}

function isResult(node: ExpressionNode): boolean {
  return (node.kind === 'path' && node.path.at(-1) === 'result') || (node.kind === 'reference' && node.name.endsWith('.result'))
}

function toSteps(steps: TreeNode, place: ExpressionPlace): NonNullable<When['steps']> {
  if (steps.kind === 'list') return { match: 'all', of: toStepConditions(steps, place) }
  const all = child(steps, 'all')
  const anyOf = child(steps, 'any')
  if (all !== undefined && anyOf !== undefined) {
    place.report.error('conflict', steps.range, '"all" conflict with forbidden peer "any"', {
      path: `${place.path}.steps`,
      hint: 'Keep one of them.',
    })
  } else if (all === undefined && anyOf === undefined) {
    place.report.error('empty-value', steps.range, '"steps" must contain "all" or "any"', { path: `${place.path}.steps` })
  }
  return anyOf === undefined
    ? { match: 'all', of: toStepConditions(all, place) }
    : { match: 'any', of: toStepConditions(anyOf, place) }
}

function toStepConditions(list: TreeNode | undefined, place: ExpressionPlace): StepCondition[] {
  if (list?.kind !== 'list') return []
  return list.items.flatMap((item) => {
    const nameNode = child(item, 'name')
    const name = textOf(nameNode)
    if (item.kind !== 'map' || nameNode === undefined || name === undefined) return []
    const on = read.texts(item.entries, 'on') ?? ['success']
    const asked = checkStepName(name, nameNode.range, { ...place, path: `${place.path}.steps`, on })
    return [{ name: asked?.name ?? name, on }]
  })
}

/** What may hold of a step that is not done yet. */
const EARLY: Readonly<
  Partial<Record<Standing, { readonly on: readonly string[]; readonly why: string; readonly hint: string }>>
> = {
  later: { on: ['pending'], why: 'runs later, so it is still pending here', hint: 'Move it up.' },
  inside: {
    on: ['pending'],
    why: 'is inside this one, so it is still pending here',
    hint: 'Put the condition on a step that comes later.',
  },
  beside: {
    on: ['pending', 'running'],
    why: 'starts at the same time, so it has not ended here',
    hint: 'Put the steps one after the other, or use "mode: parallel" at the root, where steps wait for each other.',
  },
  around: {
    on: ['running'],
    why: 'holds this one, so it is still running here',
    hint: 'Put the condition on a step that comes later.',
  },
}

/** The step of this name. Reports one that does not exist, the step itself, and one that cannot be done yet. `on`: the states asked for. */
function checkStepName(
  name: string,
  range: Range,
  place: ExpressionPlace & { readonly on: readonly string[] | undefined },
): Draft | undefined {
  const { report, path, draft, drafting, atEnd, on } = place
  const asked = drafting.names.find(name, draft)
  if (asked === undefined) {
    const close = drafting.names.suggest(name, draft)
    report[place.severity](
      'unknown-step',
      range,
      `there is no step "${name}"${close === undefined ? '' : `. Did you mean "${close}"?`}`,
      {
        path,
        hint: name === 'main_clone' ? 'Add a step of type git-clone with this name.' : '',
        ...(close !== undefined && { suggestion: { from: name, to: close } }),
      },
    )
    return undefined
  }
  if (atEnd || draft === undefined) return asked
  const standing = standingOf(asked, draft, drafting)
  const early = EARLY[standing]
  if (standing === 'itself') report.error('unknown-step', range, `the step "${name}" asks about itself`, { path })
  else if (early !== undefined && on?.some((word) => early.on.includes(word)) !== true)
    report.warning('later-step', range, `the step "${name}" ${early.why}`, { path, hint: early.hint })
  return asked
}
