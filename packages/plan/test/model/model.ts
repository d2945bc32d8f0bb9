/** Random builds: the document, the behavior of its steps, and external events. */
import { HOOK_MOMENTS } from '../../src/index.ts'
import type { GroupAction, HookMoment, Plan, PlanStep, SuccessCriteria, When } from '../../src/index.ts'
import { freestyle } from '../plans.ts'

export type Condition =
  | { readonly kind: 'always' | 'never' | 'broken' }
  /** `workflow.result == '...'` */
  | { readonly kind: 'workflow'; readonly is: 'success' | 'failure' | 'terminated' | 'running' }
  /** `steps.NAME.result == '...'` */
  | { readonly kind: 'result'; readonly name: string; readonly is: string }
  | {
      readonly kind: 'steps'
      readonly match: 'all' | 'any'
      readonly of: readonly { readonly name: string; readonly on: readonly string[] }[]
    }

export interface Criteria {
  readonly only?: readonly string[]
  readonly ignore?: readonly string[]
  readonly condition?: Exclude<Condition, { kind: 'steps' }>
}

export interface Part {
  readonly name: string
  readonly kind: 'leaf' | 'approval' | 'group'
  readonly parallel: boolean
  readonly typed: boolean
  readonly failFast: boolean
  readonly strict: boolean
  readonly when?: Condition | undefined
  readonly criteria?: Criteria | undefined
  /** Set for groups. */
  readonly tries: number
  readonly limit?: number | undefined
  readonly children: readonly Part[]
  readonly hooks: readonly (readonly [HookMoment, Part])[]
  /** How a leaf ends in each try; the last entry holds for all later ones. */
  readonly ends: readonly ('success' | 'error')[]
  readonly decision: 'approved' | 'denied' | 'terminated'
  /** How long a leaf runs and an approval waits. No two sums of these are equal. */
  readonly takes: number
}

export interface Model {
  readonly parallel: boolean
  readonly strict: boolean
  readonly criteria?: Criteria | undefined
  readonly roots: readonly Part[]
  readonly hooks: readonly (readonly [HookMoment, Part])[]
  readonly skip: readonly string[]
  /** Times of external events. */
  readonly cancelAt?: number | undefined
  readonly forceAt?: number | undefined
  readonly losses: readonly { readonly at: number; readonly volumeKept: boolean }[]
}

/** Delay before the second try of a group in milliseconds; later delays are equal. */
export const PAUSE = 710

/** Returns a small fast generator of numbers in [0, 1), deterministic for a seed (mulberry32). */
export function numbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Results that do not depend on the order of simultaneous events, so without `running` and `pending`. */
const RESULTS = ['success', 'failure', 'finished', 'skipped', 'terminated', 'approved', 'denied']

class Draw {
  readonly #next: () => number
  #count = 0
  #left: number

  get count(): number {
    return this.#count
  }

  constructor(seed: number) {
    this.#next = numbers(seed)
    this.#left = 1 + Math.floor(this.#next() * 13)
  }

  model(): Model {
    const parallel = this.chance(0.35)
    const roots: Part[] = []
    while (this.#left > 0) roots.push(this.part({ depth: 0, inHook: false }))
    const horizon = 2_000 + this.#next() * roots.length * 1_000
    const cancelAt = this.chance(0.3) ? this.#next() * horizon : undefined
    const isLost = cancelAt === undefined && this.chance(0.25)
    return {
      parallel,
      strict: this.chance(0.15),
      criteria: this.criteria(roots),
      roots,
      hooks: this.hooks({ depth: 0, chance: 0.25 }),
      skip: this.chance(0.1) ? [this.name()] : [],
      cancelAt,
      forceAt: cancelAt !== undefined && this.chance(0.3) ? cancelAt + this.#next() * 2_000 : undefined,
      losses: isLost ? [{ at: this.#next() * horizon, volumeKept: this.chance(0.7) }] : [],
    }
  }

  chance(of: number): boolean {
    return this.#next() < of
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[Math.floor(this.#next() * from.length)] ?? from[0]
  }

  /** Returns a step that may come later; `drawModel` makes sure that it exists. */
  name(): string {
    return nameOf(Math.floor(this.#next() * 20))
  }

  part({ depth, inHook }: { depth: number; inHook: boolean }): Part {
    const name = nameOf(this.#count++)
    this.#left -= 1
    const isGroup = depth < 3 && this.#left > 0 && this.chance(0.25)
    const typed = isGroup && this.chance(0.4)
    const parallel = isGroup && !typed && this.chance(0.7)
    const children: Part[] = []
    const size = isGroup ? 1 + Math.floor(this.#next() * 3) : 0
    while (children.length < size && (this.#left > 0 || children.length === 0))
      children.push(this.part({ depth: depth + 1, inHook }))
    const kind = isGroup ? 'group' : !inHook && this.chance(0.08) ? 'approval' : 'leaf'
    return {
      name,
      kind,
      parallel,
      typed,
      failFast: this.chance(0.65),
      strict: this.chance(0.2),
      when: this.chance(0.35) ? this.condition() : undefined,
      criteria: isGroup ? this.criteria(children) : undefined,
      tries: isGroup && this.chance(0.3) ? 2 + Math.floor(this.#next() * 2) : 1,
      limit: isGroup && this.chance(0.15) ? 200 + this.#next() * 2_000 : undefined,
      children,
      hooks: inHook ? [] : this.hooks({ depth, chance: 0.12 }),
      ends: this.pick([['success'], ['success'], ['error'], ['error', 'success'], ['success', 'error']]),
      decision: this.pick(['approved', 'approved', 'denied', 'terminated']),
      takes: 100 + 1_000 * this.#next(),
    }
  }

  hooks({ depth, chance }: { depth: number; chance: number }): [HookMoment, Part][] {
    return HOOK_MOMENTS.filter(() => this.chance(chance)).map((moment) => [
      moment,
      this.part({ depth: Math.max(depth, 2), inHook: true }),
    ])
  }

  condition(): Condition {
    const kind = this.pick<Condition['kind']>(['always', 'never', 'broken', 'workflow', 'result', 'steps', 'steps', 'steps'])
    if (kind === 'workflow') return { kind, is: this.pick(['success', 'failure', 'terminated', 'running']) }
    if (kind === 'result') return { kind, name: this.name(), is: this.pick(['success', 'failure', 'skipped', 'denied']) }
    if (kind !== 'steps') return { kind }
    const entry = (): { name: string; on: string[] } => ({ name: this.name(), on: RESULTS.filter(() => this.chance(0.3)) })
    return { kind, match: this.pick(['all', 'any']), of: this.chance(0.5) ? [entry()] : [entry(), entry()] }
  }

  criteria(members: readonly Part[]): Criteria | undefined {
    if (!this.chance(0.15)) return undefined
    const some = (): string[] => members.filter(() => this.chance(0.5)).map(({ name }) => name)
    const condition = this.chance(0.5)
      ? this.pick<Exclude<Condition, { kind: 'steps' }>>([
          { kind: 'always' },
          { kind: 'never' },
          { kind: 'broken' },
          { kind: 'result', name: members[0]?.name ?? 's00', is: 'success' },
        ])
      : undefined
    return {
      ...(this.chance(0.4) && { only: some() }),
      ...(this.chance(0.4) && { ignore: some() }),
      ...(condition !== undefined && { condition }),
    }
  }
}

function nameOf(index: number): string {
  return `s${String(index).padStart(2, '0')}`
}

/** Returns the build of a seed. */
export function drawModel(seed: number): Model {
  const draw = new Draw(seed)
  const model = draw.model()
  const isName = (value: unknown): value is string => typeof value === 'string' && /^s\d\d+$/.test(value)
  // Only the engine knows that a group reached its time limit, and this is lost with the engine.
  return JSON.parse(JSON.stringify(model), (key, value: unknown) =>
    key === 'limit' && model.losses.length > 0 ? undefined : isName(value) ? nameOf(Number(value.slice(1)) % draw.count) : value,
  ) as Model
}

/** Returns the plan as the compiler would make it. */
export function planOf(model: Model): Plan {
  const steps = [
    ...model.roots.flatMap((part, at) => stepsOf(part, { before: model.parallel ? undefined : model.roots[at - 1] })),
    ...hooksOf(model.hooks, undefined),
  ]
  return {
    planVersion: 1,
    mode: model.parallel ? 'parallel' : 'serial',
    stages: [],
    failFast: true,
    strictFailFast: model.strict,
    ...(model.criteria !== undefined && { successCriteria: criteriaOf(model.criteria) }),
    steps,
    variables: [],
  }
}

interface Place {
  readonly before?: Part | undefined
  readonly parent?: Part
  readonly hook?: PlanStep['hook']
}

function stepsOf(part: Part, { before, parent, hook }: Place): PlanStep[] {
  const own: PlanStep = {
    name: part.name,
    title: part.name,
    ...(parent !== undefined && { parent: parent.name }),
    after: before === undefined ? [] : [before.name],
    ...(part.when !== undefined && { when: whenOf(part.when) }),
    failFast: part.failFast,
    strictFailFast: part.strict,
    retry: { maxAttempts: part.tries, delayMs: PAUSE, factor: 1 },
    action: actionOf(part),
    ...(part.criteria !== undefined && { successCriteria: criteriaOf(part.criteria) }),
    ...(hook !== undefined && { hook }),
    position: { line: 1, column: 1 },
  }
  const children = part.children.flatMap((child, at) =>
    stepsOf(child, { parent: part, before: part.parallel ? undefined : part.children[at - 1] }),
  )
  return [own, ...children, ...hooksOf(part.hooks, part.name)]
}

function hooksOf(hooks: Part['hooks'], of: string | undefined): PlanStep[] {
  return hooks.flatMap(([moment, part]) => stepsOf(part, { hook: { moment, ...(of !== undefined && { of }) } }))
}

function actionOf(part: Part): PlanStep['action'] {
  if (part.kind === 'approval') return { kind: 'pending-approval', timeoutMs: 1, finalState: 'terminated' }
  if (part.kind === 'leaf') return freestyle()
  const group: GroupAction = { kind: 'group', mode: part.parallel ? 'parallel' : 'serial' }
  return part.typed ? { ...group, typed: { type: 't', version: '1.0.0', arguments: {} } } : group
}

function whenOf(condition: Condition): When {
  return condition.kind === 'steps'
    ? { steps: { match: condition.match, of: condition.of } }
    : { condition: { all: { it: textOf(condition) } } }
}

function textOf(condition: Exclude<Condition, { kind: 'steps' }>): string {
  switch (condition.kind) {
    case 'always':
      return '1 == 1'
    case 'never':
      return '1 == 2'
    case 'broken':
      return '1 / 0 == 1'
    case 'workflow':
      return `workflow.result == '${condition.is}'`
    case 'result':
      return `steps.${condition.name}.result == '${condition.is}'`
  }
}

function criteriaOf({ condition, ...lists }: Criteria): SuccessCriteria {
  return { ...lists, ...(condition !== undefined && { condition: { all: { it: textOf(condition) } } }) }
}
