/** Where a new attempt goes on (pipeline language 3.11 and 3.15): one way for lost attempts, approvals and restarts. */
import { PENDING, stateOf } from './fold.ts'
import { isFinalStep, REASONS } from './lists.ts'
import type { Plan } from './plan.ts'
import { belongings, lineage, shapeOf } from './shape.ts'
import type { Node, Shape } from './shape.ts'
import type { Snapshot, StepState } from './snapshot.ts'

/** Why a build goes on in a new attempt. */
export const RESUME_CAUSES = ['infra', 'approval', 'restart'] as const
export type ResumeCause = (typeof RESUME_CAUSES)[number]

export interface ResumeOptions {
  readonly cause: ResumeCause
  /** False when the shared volume of the attempt before is lost, so that nothing the steps left behind can be relied on. */
  readonly volumeKept: boolean
  /** Run this step again, and all that comes after it. */
  readonly from?: string | undefined
}

/**
 * The snapshot with the steps that have to run again back to pending, their exports forgotten:
 * - steps that were running, always. Approvals go on waiting; groups go on with what is left inside them;
 * - when the volume is lost: after a loss of infrastructure all steps; after an approval or a restart the git-clone steps that had succeeded,
 *   before anything else (`Snapshot.first`);
 * - with `from`: that step, what follows it, and what was not reached or stopped.
 * Steps that the run was asked to leave out stay out. Doing it twice changes nothing more.
 */
export function resume(plan: Plan, snapshot: Snapshot, { cause, volumeKept, from }: ResumeOptions): Snapshot {
  const shape = shapeOf(plan)
  const state = (node: Node): StepState => stateOf(snapshot, node.name)
  const again = new Set<Node>()
  const isAnew = cause === 'infra' && !volumeKept
  for (const node of shape.nodes) if (isAnew || (state(node).status === 'running' && !node.isGroup)) again.add(node)
  if (from !== undefined) addFrom(shape, from, { again, state })
  const clones =
    cause === 'infra' || volumeKept ? [] : shape.nodes.filter((node) => isClone(node) && state(node).status === 'success')
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
    exports: snapshot.exports.filter(({ step }) => (step === undefined ? !isAnew : !forgotten.has(step))),
    ...(first.length > 0
      ? { first: first.map(({ name }) => name) }
      : snapshot.first !== undefined && !isAnew && { first: snapshot.first }),
  }
}

interface Work {
  readonly again: Set<Node>
  readonly state: (node: Node) => StepState
}

/** A group with steps that run again goes on, and the hooks after the build are still to come. */
function reopened(node: Node, { shape, again, state }: Work & { shape: Shape }): StepState {
  const own = state(node)
  if (
    node.isGroup &&
    isFinalStep(own.status) &&
    own.status !== 'skipped' &&
    node.children.some((child) => holdsAgain(child, again))
  ) {
    const { reason: _reason, message: _message, finishedAt: _end, exitCode: _code, ...rest } = own
    return { ...rest, status: 'running', output: {} }
  }
  const top = lineage(node).at(-1)
  const isEnd = top !== undefined && shape.hooks.includes(top) && top.step.hook?.moment !== 'on_elected'
  return isEnd && shape.roots.some((root) => holdsAgain(root, again)) ? PENDING : own
}

function holdsAgain(node: Node, again: ReadonlySet<Node>): boolean {
  return again.has(node) || node.children.some((child) => holdsAgain(child, again))
}

function isClone(node: Node): boolean {
  return node.step.action.kind === 'git-clone' && !node.isHook
}

/** Adds the step with its hooks and all inside it, every step that comes after one of them or asks about one, and what was stopped or not reached. */
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

/** Step -> steps whose `when` names it. */
function askersOf(shape: Shape): Map<string, Node[]> {
  const askers = new Map<string, Node[]>()
  for (const node of shape.nodes) {
    for (const { name } of node.step.when?.steps?.of ?? []) askers.set(name, [...(askers.get(name) ?? []), node])
    for (const { name } of node.mentions) askers.set(name, [...(askers.get(name) ?? []), node])
  }
  return askers
}
