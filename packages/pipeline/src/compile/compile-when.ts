/** Compiles `when` of a step and checks its patterns, expressions and step names. */
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
import { didYouMean } from '../language/did-you-mean.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import type { Report } from '../syntax/report.ts'
import type { Range } from '../syntax/source.ts'
import { CLONE_HINT, MAIN_CLONE } from '../draft/main-clone.ts'
import { relativePositionOf } from '../draft/static-checks.ts'
import type { RelativePosition } from '../draft/static-checks.ts'
import type { Draft } from '../draft/step-draft.ts'
import { child, offsetsInScalar, textOf } from '../syntax/tree.ts'
import type { MapNode, ScalarNode, TreeNode } from '../syntax/tree.ts'
import type { Drafting } from '../draft/drafting.ts'

export interface ExpressionPlace {
  readonly report: Report
  /** Path of the step, such as `steps.test`. */
  readonly path: string
  readonly drafting: Drafting
  /** The step of the expression; undefined at the root. */
  readonly draft: Draft | undefined
  /** True for expressions that are evaluated after the steps have ended, where order does not matter. */
  readonly atEnd: boolean
  /** `warning` if an invalid expression does not harm the build. */
  readonly severity: 'error' | 'warning'
}

/** Returns the checked `when` of a step, or undefined if there is none. */
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
      checkBranchPattern(item, { ...place, path: `${place.path}.branch.${key}` })
  }
  return {
    ...read.when('only', read.texts(branch.entries, 'only')),
    ...read.when('ignore', read.texts(branch.entries, 'ignore')),
  }
}

function checkBranchPattern(item: TreeNode, { report, path, drafting }: ExpressionPlace): void {
  const text = textOf(item) ?? ''
  if (!drafting.patterns.has(text)) drafting.patterns.set(text, problemOfPattern(text))
  const problem = drafting.patterns.get(text)
  if (problem !== undefined) report.error('pattern', item.range, `invalid regular expression: ${problem}`, { path })
}

/** Returns why a pattern cannot be used. Undefined for a usable one, and for a text that is no pattern. */
function problemOfPattern(text: string): string | undefined {
  const parts = toRegexParts(text)
  if (parts === undefined) return undefined
  try {
    checkPattern(parts.source, parts.flags)
    return undefined
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    return error.message
  }
}

/** Compiles labeled expressions and checks each of them. */
export function toCondition(condition: MapNode, place: ExpressionPlace): NonNullable<When['condition']> {
  const labeled = (key: 'all' | 'any'): Record<string, string> | undefined => {
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
  return { ...read.when('all', labeled('all')), ...read.when('any', labeled('any')) }
}

/** Reports an expression that cannot be parsed, and unknown names in it. */
export function checkExpression(node: ScalarNode, text: string, place: ExpressionPlace): void {
  const offsetAt = offsetsInScalar(node, place.report.source.text)
  const rangeAt = (at: number): Range => ({ start: offsetAt(at), end: offsetAt(at) + 1 })
  try {
    for (const part of nodesOf(parseExpression(text))) checkNode(part, () => rangeAt(part.at), place)
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    place.report[place.severity]('expression', rangeAt(error.at), `invalid expression: ${error.message}`, {
      path: place.path,
    })
  }
}

/** Returns a place in an expression. Only problems need it, and it is not known without reading the expression. */
type LazyRange = () => Range

function checkNode(node: ExpressionNode, range: LazyRange, place: ExpressionPlace): void {
  if (node.kind === 'path') checkPath(node.path, range, place)
  if (node.kind === 'chain') checkComparison(node, range, place)
  if (node.kind === 'reference') checkReference(node.name, range, place)
  for (const part of node.kind === 'text' ? node.parts : []) if (typeof part !== 'string') checkReference(part.name, range, place)
}

function checkPath(path: readonly string[], range: LazyRange, place: ExpressionPlace): void {
  const [first = '', second = ''] = path
  if (first === 'workflow' && second === 'result') return
  checkStepName(first === 'steps' || first === 'parentSteps' ? second : first, range, { ...place, on: undefined })
}

/** Checks `${{steps.NAME...}}` in an expression. Other references may be variables that are not known yet. */
function checkReference(name: string, range: LazyRange, place: ExpressionPlace): void {
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

/** Warns about a result that is compared with a value it never has. */
function checkComparison(chain: ExpressionNode & { kind: 'chain' }, range: LazyRange, place: ExpressionPlace): void {
  const operands = [chain.first, ...chain.rest.map(({ right }) => right)]
  if (!chain.rest.some(({ operator }) => /^[=!]==?$/.test(operator)) || !operands.some(isResult)) return
  for (const operand of operands) {
    const [only, more] = operand.kind === 'text' ? operand.parts : []
    if (typeof only !== 'string' || more !== undefined || RESULTS.includes(only)) continue
    const hint =
      only === 'error'
        ? 'Use "failure", the result of a failed step.'
        : only === 'finished'
          ? 'Use when.steps with "on: [finished]".'
          : ''
    place.report.warning('never-true', range(), `a step result is never "${only}"`, { path: place.path, hint })
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
    const where = {
      ...place,
      path: `${place.path}.steps`,
      on,
      severity: 'warning',
      effect: ', so the condition is never met',
    } as const
    const target = checkStepName(name, () => nameNode.range, where)
    // No state is listed, so that the condition never holds, not even for steps that have not started.
    return [target === undefined ? { name, on: [] } : { name: target.name, on }]
  })
}

/** Why a condition on a step that has not ended never holds, and the states in `on` for which it can. */
const NOT_ENDED: Readonly<
  Partial<Record<RelativePosition, { readonly on: readonly string[]; readonly why: string; readonly hint: string }>>
> = {
  later: { on: ['pending'], why: 'runs later, so it is still pending here', hint: 'Move that step before this one.' },
  inside: {
    on: ['pending'],
    why: 'is inside this one, so it is still pending here',
    hint: 'Move the condition to a later step.',
  },
  beside: {
    on: ['pending', 'running'],
    why: 'starts at the same time, so it has not ended here',
    hint: 'Run the steps one after the other, or use "mode: parallel" at the root, where steps wait for each other.',
  },
  around: {
    on: ['running'],
    why: 'contains this one, so it is still running here',
    hint: 'Move the condition to a later step.',
  },
}

/** Finds a step by name. Reports a missing step, the step itself, and a step that cannot have ended. `on`: the states of the condition. */
function checkStepName(
  name: string,
  range: LazyRange,
  place: ExpressionPlace & { readonly on: readonly string[] | undefined; readonly effect?: string },
): Draft | undefined {
  const { report, path, draft, drafting, atEnd, on, effect = '' } = place
  const target = drafting.names.find(name, draft)
  if (target === undefined) {
    const close = drafting.names.suggest(name, draft)
    report[place.severity]('unknown-step', range(), `step "${name}" does not exist${effect}${didYouMean(close)}`, {
      path,
      hint: name === MAIN_CLONE ? CLONE_HINT : '',
      ...(close !== undefined && { suggestion: { from: name, to: close } }),
    })
    return undefined
  }
  if (atEnd || draft === undefined) return target
  const position = relativePositionOf(target, draft, drafting)
  const notEnded = NOT_ENDED[position]
  if (position === 'itself') report.error('unknown-step', range(), `step "${name}" refers to itself`, { path })
  else if (notEnded !== undefined && on?.some((word) => notEnded.on.includes(word)) !== true)
    report.warning('later-step', range(), `step "${name}" ${notEnded.why}`, { path, hint: notEnded.hint })
  return target
}
