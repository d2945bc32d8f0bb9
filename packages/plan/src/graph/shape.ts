/** A plan as a tree with its parents, hooks and dependencies resolved. Built once for each plan. */
import { kindOf } from '../actions/index.ts'
import type { TypedStep } from '../actions/group.ts'
import type { HookMoment, Plan, PlanStep } from '../plan.ts'

export interface Node {
  readonly step: PlanStep
  readonly name: string
  /** Index in the plan. */
  readonly index: number
  /** The group around the step; undefined at the root and for the top of a hook. */
  readonly parent: Node | undefined
  /** The group of the step, or the step that it is a hook of. Undefined for root steps and hooks of the build. */
  readonly owner: Node | undefined
  readonly children: readonly Node[]
  readonly hooks: readonly Node[]
  readonly isGroup: boolean
  /** True inside a hook, including its top step. */
  readonly isHook: boolean
  /** True if its `when` reads `workflow.result`. */
  readonly readsResult: boolean
  /** Steps that list this one in `after`. */
  readonly followers: readonly Node[]
  /** In parallel mode: the steps that the `when` of this one mentions, with the groups around them; and the reverse. */
  readonly mentions: readonly Node[]
  readonly mentionedBy: readonly Node[]
}

export interface Shape {
  readonly nodes: readonly Node[]
  readonly byName: ReadonlyMap<string, Node>
  readonly roots: readonly Node[]
  /** Hooks of the build. */
  readonly hooks: readonly Node[]
}

interface Draft extends Node {
  parent: Draft | undefined
  owner: Draft | undefined
  isGroup: boolean
  isHook: boolean
  readonly children: Draft[]
  readonly hooks: Draft[]
  readonly followers: Draft[]
  readonly mentions: Node[]
  readonly mentionedBy: Draft[]
}

const shapes = new WeakMap<Plan, Shape>()

/** Returns the shape of a plan. Plans are frozen, so it is cached for the lifetime of the plan. */
export function shapeOf(plan: Plan): Shape {
  const known = shapes.get(plan)
  if (known !== undefined) return known
  const shape = buildShape(plan)
  shapes.set(plan, shape)
  return shape
}

function buildShape(plan: Plan): Shape {
  const drafts = plan.steps.map(draft)
  const byName = new Map(drafts.map((node) => [node.name, node]))
  for (const node of drafts) link(node, byName)
  for (const node of drafts) {
    node.isGroup ||= node.children.length > 0
    node.isHook = lineage(node).some(({ step }) => step.hook !== undefined)
  }
  if (plan.mode === 'parallel') for (const node of drafts) linkMentions(node, drafts, byName)
  return {
    nodes: drafts,
    byName,
    roots: drafts.filter(({ step }) => step.parent === undefined && step.hook === undefined),
    hooks: drafts.filter(({ step }) => step.hook !== undefined && step.hook.of === undefined),
  }
}

function draft(step: PlanStep, index: number): Draft {
  return {
    step,
    name: step.name,
    index,
    parent: undefined,
    owner: undefined,
    children: [],
    hooks: [],
    isGroup: kindOf(step.action).performedBy === 'children',
    isHook: false,
    readsResult: conditionTexts(step).some((text) => /\bworkflow\s*\.\s*result\b/.test(text)),
    followers: [],
    mentions: [],
    mentionedBy: [],
  }
}

function link(node: Draft, byName: ReadonlyMap<string, Draft>): void {
  const { hook, parent, after } = node.step
  if (hook === undefined && parent !== undefined) {
    node.parent = byName.get(parent)
    node.parent?.children.push(node)
  }
  node.owner = hook?.of === undefined ? node.parent : byName.get(hook.of)
  if (hook !== undefined) node.owner?.hooks.push(node)
  for (const name of after) byName.get(name)?.followers.push(node)
}

function linkMentions(node: Draft, drafts: readonly Draft[], byName: ReadonlyMap<string, Draft>): void {
  if (node.isHook || node.step.when === undefined) return
  const text = conditionTexts(node.step).join('\n')
  const found = new Set<Draft>(text === '' ? [] : drafts.filter(({ name }) => text.includes(name)))
  for (const { name } of node.step.when.steps?.of ?? []) {
    const named = findNear(node, name, byName)
    const draft = named === undefined ? undefined : drafts[named.index]
    if (draft !== undefined) found.add(draft)
  }
  for (const named of found) for (const around of lineage(named)) found.add(around)
  for (const own of lineage(node)) found.delete(own)
  node.mentions.push(...found)
  for (const named of found) named.mentionedBy.push(node)
}

/**
 * Finds the step that `name` refers to at `node`. Inside a typed step or a hook its own parts come first, from the inside out (part `main` of
 * `greet` is the step `greet.main`).
 */
export function findNear(node: Node | undefined, name: string, byName: ReadonlyMap<string, Node>): Node | undefined {
  for (const around of node === undefined ? [] : enclosing(node)) {
    const part = hasParts(around) ? byName.get(`${around.name}.${name}`) : undefined
    if (part !== undefined) return part
  }
  return byName.get(name)
}

function hasParts({ step }: Node): boolean {
  return step.hook !== undefined || typedOf(step) !== undefined
}

export function typedOf({ action }: PlanStep): TypedStep | undefined {
  return action.kind === 'group' ? action.typed : undefined
}

/** Returns the groups around a step, from the inside out. A hook is not inside its step but beside it. */
export function enclosing(node: Node): Node[] {
  const found: Node[] = []
  for (let at: Node | undefined = node; at !== undefined;) {
    const isBeside: boolean = at.step.hook !== undefined
    at = isBeside ? at.owner : at.parent
    if (at !== undefined && !isBeside) found.push(at)
  }
  return found
}

/** Returns a step and all its owners, from the inside out. */
export function lineage<N extends { readonly owner: N | undefined }>(node: N): N[] {
  const found: N[] = []
  for (let at: N | undefined = node; at !== undefined; at = at.owner) found.push(at)
  return found
}

/** Returns everything that belongs to a step: the steps inside it with their hooks, and its own hooks unless `inside` is set. */
export function belongings(node: Node, options: { readonly inside?: boolean } = {}): Node[] {
  const direct = options.inside === true ? node.children : [...node.children, ...node.hooks]
  return direct.flatMap((one) => [one, ...belongings(one)])
}

export function hookOf(hooks: readonly Node[], moment: HookMoment): Node | undefined {
  return hooks.find(({ step }) => step.hook?.moment === moment)
}

function conditionTexts(step: PlanStep): string[] {
  const condition = step.when?.condition
  return [...Object.values(condition?.all ?? {}), ...Object.values(condition?.any ?? {})]
}
