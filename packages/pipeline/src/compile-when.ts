/** `when` of a step, with what can be said about it before anything runs: patterns, expressions, names of steps. */
import {
  checkPattern,
  ExpressionError,
  nearMiss,
  nodesOf,
  parseExpression,
  PatternError,
  toRegexParts,
  type ExpressionNode,
  type StepCondition,
  type When,
} from '@windlass/plan'
import type { StepNames } from './compile-step.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import type { Report } from './report.ts'
import type { Range } from './source.ts'
import { child, offsetInScalar, textOf } from './tree.ts'
import type { MapNode, ScalarNode, TreeNode } from './tree.ts'

export interface WhenPlace {
  readonly report: Report
  /** Of the step, such as `steps.test`. */
  readonly path: string
  readonly step: string
  readonly names: StepNames
}

/** The checked `when` of a step as the plan has it; undefined when there is none. */
export function toWhen(entries: Entries, place: WhenPlace): When | undefined {
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

function toBranch(branch: MapNode, place: WhenPlace): NonNullable<When['branch']> {
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

function toCondition(condition: MapNode, place: WhenPlace): NonNullable<When['condition']> {
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

function checkExpression(node: ScalarNode, text: string, place: WhenPlace): void {
  const rangeAt = (at: number): Range => {
    const start = offsetInScalar(node, place.report.source.text, at)
    return { start, end: start + 1 }
  }
  try {
    for (const part of nodesOf(parseExpression(text))) checkNode(part, rangeAt(part.at), place)
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    place.report.error('expression', rangeAt(error.at), `the expression is wrong: ${error.message}`, { path: place.path })
  }
}

function checkNode(node: ExpressionNode, range: Range, place: WhenPlace): void {
  if (node.kind === 'path') checkPath(node.path, range, place)
  if (node.kind === 'chain') checkComparison(node, range, place)
}

function checkPath(path: readonly string[], range: Range, place: WhenPlace): void {
  const [first = '', second = ''] = path
  if (first === 'workflow' && second === 'result') return
  checkStepName(first === 'steps' || first === 'parentSteps' ? second : first, range, place)
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
function checkComparison(chain: ExpressionNode & { kind: 'chain' }, range: Range, place: WhenPlace): void {
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

function toSteps(steps: TreeNode, place: WhenPlace): NonNullable<When['steps']> {
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

function toStepConditions(list: TreeNode | undefined, place: WhenPlace): StepCondition[] {
  if (list?.kind !== 'list') return []
  return list.items.flatMap((item) => {
    const nameNode = child(item, 'name')
    const name = textOf(nameNode)
    if (item.kind !== 'map' || nameNode === undefined || name === undefined) return []
    checkStepName(name, nameNode.range, { ...place, path: `${place.path}.steps` })
    return [{ name, on: read.texts(item.entries, 'on') ?? ['success'] }]
  })
}

/** Reports a step that does not exist, is the step itself, or in serial mode has not run yet. */
function checkStepName(name: string, range: Range, { report, path, step, names }: WhenPlace): void {
  const place = names.order.get(name)
  if (place === undefined) {
    const close = nearMiss(name, [...names.order.keys()])
    report.error('unknown-step', range, `there is no step "${name}"${close === undefined ? '' : `. Did you mean "${close}"?`}`, {
      path,
      ...(close !== undefined && { suggestion: { from: name, to: close } }),
    })
  } else if (name === step) {
    report.error('unknown-step', range, `the step "${name}" asks about itself`, { path })
  } else if (place > (names.order.get(step) ?? 0)) {
    report.warning('later-step', range, `the step "${name}" runs later, so it is still pending here`, {
      path,
      hint: 'Move it up.',
    })
  }
}
