/** Explains afterwards why the `when` of a step held or not: its parts, the values that they read, and their results. Pure. */
import type { Scope } from '../expression/substitute.ts'
import { judgeCondition, judgeWhen } from '../expression/condition.ts'
import type { Verdict } from '../expression/condition.ts'
import type { BuildScope } from '../expression/build-scope.ts'
import { buildScope } from '../expression/scope.ts'
import type { BuildContext } from '../graph/outcome.ts'
import { workflowResultAt } from '../graph/step-queries.ts'
import { isFinalStep } from '../lists.ts'
import type { Plan, PlanStep, When } from '../plan.ts'
import { PENDING, stateOf } from '../state/fold.ts'
import { stepResult } from '../state/results.ts'
import type { Snapshot, StepState } from '../state/snapshot.ts'

/** A name that a part reads. Secrets and names without a value have no `value`. */
export interface WhenValue {
  readonly name: string
  readonly value?: string | undefined
  readonly isSecret: boolean
}

export interface WhenPart {
  readonly part: 'branch' | 'steps' | 'condition'
  /** Whether every part of this kind must hold, or one of them. */
  readonly match: 'all' | 'any'
  /** Label of an expression, or name of a step. */
  readonly label?: string | undefined
  /** The expression, the results of the step that are accepted, or the branches. */
  readonly text: string
  readonly values: readonly WhenValue[]
  /** Absent if it was not evaluated, or reads a secret. */
  readonly holds?: Verdict['holds'] | undefined
}

export interface WhenFacts {
  /** Absent if the condition was not evaluated: the turn of the step did not come. */
  readonly holds?: Verdict['holds'] | undefined
  /** Why the condition is invalid. */
  readonly message?: string | undefined
  readonly parts: readonly WhenPart[]
}

export interface WhenSubject {
  readonly plan: Plan
  readonly snapshot: Snapshot
  readonly context?: BuildContext | undefined
}

/** Maximum values of one part, and characters of one value. */
const MAX_VALUES = 50
const MAX_VALUE = 1_000

/**
 * Explains the condition of a step; undefined if it has none. The values are those of the time when the condition was evaluated, or of now if it was
 * not. Secrets need not be known, and their sealed values may be in the snapshot.
 */
export function explainWhen(step: PlanStep, { plan, snapshot, context = {} }: WhenSubject): WhenFacts | undefined {
  const { when } = step
  if (when === undefined) return undefined
  const state = stateOf(snapshot, step.name)
  const holds = holdsOf(state)
  const then = holds === undefined ? snapshot : snapshotAt(snapshot, step.name, state.startedAt ?? state.finishedAt ?? Infinity)
  const known = withoutSecrets(then)
  const place: Place = {
    snapshot: known,
    scope: buildScope({
      plan,
      snapshot: known,
      step: step.name,
      workflowResult: readsResult(when) ? workflowResultAt(plan, known, { context, step: step.name }) : undefined,
    }),
    isSecret: secretNames(plan, then),
    isJudged: holds !== undefined,
  }
  return {
    ...(holds !== undefined && { holds }),
    ...(holds === 'broken' && state.message !== undefined && { message: state.message }),
    parts: [...branchParts(when, place), ...stepParts(when, place), ...conditionParts(when, place)],
  }
}

/** Returns the result with which the step went on; undefined if its condition was not evaluated. */
function holdsOf({ status, reason, startedAt }: StepState): Verdict['holds'] | undefined {
  if (reason === 'condition-false') return 'no'
  if (reason === 'condition-error' && startedAt === undefined) return 'broken'
  return startedAt === undefined || status === 'pending' ? undefined : 'yes'
}

interface Place {
  readonly snapshot: Snapshot
  readonly scope: BuildScope
  readonly isSecret: (name: string) => boolean
  readonly isJudged: boolean
}

function branchParts({ branch }: When, place: Place): WhenPart[] {
  if (branch === undefined) return []
  const lists = [
    ...(branch.only === undefined ? [] : [`only ${branch.only.join(', ')}`]),
    ...(branch.ignore === undefined ? [] : [`not ${branch.ignore.join(', ')}`]),
  ]
  return [
    judged({ part: 'branch', match: 'all', text: lists.join('; ') }, place, (scope) =>
      judgeWhen({ branch }, { ...place, scope }),
    ),
  ]
}

function stepParts({ steps }: When, place: Place): WhenPart[] {
  return (steps?.of ?? []).map((condition) => {
    const name = place.scope.findStep(condition.name) ?? condition.name
    const { holds } = judgeWhen({ steps: { match: 'all', of: [condition] } }, place)
    return {
      part: 'steps',
      match: steps?.match ?? 'all',
      label: name,
      text: condition.on.join(' or '),
      values: [{ name, value: stepResult(stateOf(place.snapshot, name)), isSecret: false }],
      ...(place.isJudged && { holds }),
    }
  })
}

function conditionParts({ condition }: When, place: Place): WhenPart[] {
  const partsOf = (match: 'all' | 'any'): WhenPart[] =>
    Object.entries(condition?.[match] ?? {}).map(([label, text]) =>
      judged({ part: 'condition', match, label, text }, place, (scope) => judgeCondition({ all: { [label]: text } }, scope)),
    )
  return [...partsOf('all'), ...partsOf('any')]
}

/** Evaluates a part and notes the names that it reads. */
function judged(
  part: Pick<WhenPart, 'part' | 'match' | 'label' | 'text'>,
  { scope, isSecret, isJudged }: Place,
  judge: (scope: BuildScope) => Verdict,
): WhenPart {
  const read = new Map<string, string | undefined>()
  const { holds } = judge(recording(scope, read))
  const values = [...read]
    .slice(0, MAX_VALUES)
    .map(([name, value]): WhenValue =>
      isSecret(name)
        ? { name, isSecret: true }
        : { name, isSecret: false, ...(value !== undefined && { value: value.slice(0, MAX_VALUE) }) },
    )
  const isKnown = isJudged && !values.some((value) => value.isSecret)
  return { ...part, values, ...(isKnown && { holds }) }
}

function recording(scope: BuildScope, read: Map<string, string | undefined>): BuildScope {
  const recorded = (inner: Scope): Scope => ({
    lookup(name) {
      const value = inner.lookup(name)
      read.set(name, value)
      return value
    },
  })
  return { ...scope, lookup: recorded(scope).lookup, as: (purpose) => recorded(scope.as(purpose)) }
}

function readsResult({ condition }: When): boolean {
  return [...Object.values(condition?.all ?? {}), ...Object.values(condition?.any ?? {})].some((text) =>
    text.includes('workflow'),
  )
}

/** Returns the snapshot as it was at a time, when the step itself had not started. */
function snapshotAt(snapshot: Snapshot, self: string, at: number): Snapshot {
  const rewind = ([name, state]: [string, StepState]): [string, StepState] => {
    const { startedAt = Infinity, finishedAt = Infinity } = state
    if (name === self || Math.min(startedAt, finishedAt) > at) return [name, PENDING]
    return [
      name,
      finishedAt > at && isFinalStep(state.status) ? { ...PENDING, status: 'running', try: state.try, startedAt } : state,
    ]
  }
  return {
    steps: Object.fromEntries(Object.entries(snapshot.steps).map(rewind)),
    exports: snapshot.exports.filter((exported) => exported.step !== self && (exported.at ?? -Infinity) <= at),
  }
}

/** Removes secret values, which may be sealed. */
function withoutSecrets(snapshot: Snapshot): Snapshot {
  const strip = (values: Readonly<Record<string, string>>, names: readonly string[] = []): Readonly<Record<string, string>> =>
    names.length === 0 ? values : Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)))
  const open = ([name, state]: [string, StepState]): [string, StepState] =>
    state.sealed === undefined
      ? [name, state]
      : [
          name,
          { ...state, members: strip(state.members, state.sealed.members), output: strip(state.output, state.sealed.outputs) },
        ]
  return {
    ...snapshot,
    steps: Object.fromEntries(Object.entries(snapshot.steps).map(open)),
    exports: snapshot.exports.filter(({ secret }) => !secret),
  }
}

/** Returns which names have secret values. A member of a step counts as secret if any value of any step is, because it has several spellings. */
function secretNames(plan: Plan, { exports, steps }: Snapshot): (name: string) => boolean {
  const names = new Set(exports.filter(({ secret }) => secret).map(({ name }) => name))
  for (const { variables } of plan.variables)
    for (const [name, variable] of Object.entries(variables)) if ('secret' in variable) names.add(name)
  const hasSealed = Object.values(steps).some(({ sealed }) => sealed !== undefined)
  const isMember = (name: string): boolean => name.includes('.') && !/(^|\.)(result|name|type|title)$/.test(name.trim())
  return (name) =>
    names.has(name) || names.has(name.trim()) || name.trim().startsWith('secrets.') || (hasSealed && isMember(name))
}
