/** Computes where a new attempt continues, for lost attempts, approvals and restarts alike. */
import { kindOf } from '../actions/index.ts'
import { PENDING, stateOf } from './fold.ts'
import { isFinalStep, REASONS } from '../lists.ts'
import type { Plan } from '../plan.ts'
import { belongings, lineage, shapeOf } from '../graph/shape.ts'
import type { Node, Shape } from '../graph/shape.ts'
import type { Snapshot, StepState } from './snapshot.ts'

/** Why a build continues in a new attempt. */
export const RESUME_CAUSES = ['infra', 'approval', 'restart'] as const
export type ResumeCause = (typeof RESUME_CAUSES)[number]

export interface ResumeOptions {
  readonly cause: ResumeCause
  /** False if the shared volume of the previous attempt is lost, so that the files of its steps are gone. */
  readonly volumeKept: boolean
  /** Run this step again, and everything after it. */
  readonly from?: string | undefined
}

/**
 * Resets the steps that must run again to pending and removes their exports:
 * - steps that were running, always. Approvals keep waiting, and groups continue with their remaining steps;
 * - if the volume is lost: after a loss of infrastructure all steps; after an approval or a restart the successful git-clone steps, which run
 *   before anything else (`Snapshot.first`);
 * - with `from`: that step, its followers, and all steps that were stopped or not reached.
 * Steps that were not selected stay skipped. Idempotent.
 */
export function resume(plan: Plan, snapshot: Snapshot, { cause, volumeKept, from }: ResumeOptions): Snapshot {
  const shape = shapeOf(plan)
  const state = (node: Node): StepState => stateOf(snapshot, node.name)
  const again = new Set<Node>()
  const startsOver = cause === 'infra' && !volumeKept
  for (const node of shape.nodes) if (startsOver || (state(node).status === 'running' && !node.isGroup)) again.add(node)
  if (from !== undefined) addFrom(shape, from, { again, state })
  const clones =
    cause === 'infra' || volumeKept ? [] : shape.nodes.filter((node) => fillsVolume(node) && state(node).status === 'success')
  const first = clones.filter((node) => !again.has(node))
  for (const node of first) again.add(node)
  for (const node of again) if (state(node).reason === 'not-selected') again.delete(node)
  const steps = Object.fromEntries(
    shape.nodes.map((node) => [node.name, again.has(node) ? PENDING : reopened(node, { shape, again, state })]),
  )
  const forgotten = new Set([...again].map(({ name }) => name))
  const { first: _before, ...rest } = snapshot
  return {
    ...rest,
    steps,
    exports: snapshot.exports.filter(({ step }) => (step === undefined ? !startsOver : !forgotten.has(step))),
    ...(first.length > 0
      ? { first: first.map(({ name }) => name) }
      : snapshot.first !== undefined && !startsOver && { first: snapshot.first }),
  }
}

interface Work {
  readonly again: Set<Node>
  readonly state: (node: Node) => StepState
}

/** Reopens a group that has steps to run again, and resets the hooks after the build if any root step runs again. */
function reopened(node: Node, { shape, again, state }: Work & { shape: Shape }): StepState {
  const own = state(node)
  if (
    node.isGroup &&
    isFinalStep(own.status) &&
    own.status !== 'skipped' &&
    node.children.some((child) => holdsAgain(child, again))
  ) {
    const { reason: _reason, message: _message, hint: _hint, finishedAt: _end, exitCode: _code, ...rest } = own
    return { ...rest, status: 'running', output: {} }
  }
  const top = lineage(node).at(-1)
  const isEnd = top !== undefined && shape.hooks.includes(top) && top.step.hook?.moment !== 'on_elected'
  return isEnd && shape.roots.some((root) => holdsAgain(root, again)) ? PENDING : own
}

function holdsAgain(node: Node, again: ReadonlySet<Node>): boolean {
  return again.has(node) || node.children.some((child) => holdsAgain(child, again))
}

function fillsVolume(node: Node): boolean {
  return kindOf(node.step.action).fillsVolume && !node.isHook
}

/** Adds the step with its hooks and children, every step that follows or mentions one of them, and all steps that were stopped or not reached. */
function addFrom(shape: Shape, from: string, { again, state }: Work): void {
  const start = shape.byName.get(from)
  if (start === undefined) return
  const queue: Node[] = [start]
  for (const node of shape.nodes) if (node.step.hook === undefined && isUndone(state(node))) queue.push(node)
  const askers = askersOf(shape)
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    if (again.has(node)) continue
    for (const one of [node, ...belongings(node)]) again.add(one)
    for (const around of lineage(node)) queue.push(...around.followers, ...(askers.get(around.name) ?? []))
    for (const inside of belongings(node)) queue.push(...inside.followers, ...(askers.get(inside.name) ?? []))
  }
  for (const node of again) for (const around of lineage(node)) again.add(around)
  for (const node of shape.nodes)
    if (node.step.hook !== undefined && node.owner !== undefined && again.has(node.owner)) again.add(node)
}

function isUndone({ status, reason }: StepState): boolean {
  if (status === 'terminated') return true
  return (
    status === 'skipped' &&
    reason !== undefined &&
    reason !== 'condition-false' &&
    reason !== 'not-selected' &&
    REASONS[reason].blame === 'control'
  )
}

/** Maps each step to the steps whose `when` names it. */
function askersOf(shape: Shape): Map<string, Node[]> {
  const askers = new Map<string, Node[]>()
  for (const node of shape.nodes) {
    for (const { name } of node.step.when?.steps?.of ?? []) askers.set(name, [...(askers.get(name) ?? []), node])
    for (const { name } of node.mentions) askers.set(name, [...(askers.get(name) ?? []), node])
  }
  return askers
}
