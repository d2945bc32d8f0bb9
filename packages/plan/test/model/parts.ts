/** The parts of a random build with their parents and hooks. */
import type { HookMoment } from '../../src/index.ts'
import type { Model, Part } from './model.ts'

export type Status = 'pending' | 'running' | 'waiting' | 'success' | 'error' | 'skipped' | 'terminated'

export interface State {
  status: Status
  reason: string | undefined
  /** Set for approvals. */
  word: string | undefined
}

const FINAL: readonly Status[] = ['success', 'error', 'skipped', 'terminated']

export class Parts {
  readonly parts = new Map<string, Part>()
  /** Part -> the group around it. */
  readonly holder = new Map<Part, Part>()
  /** Part -> its owner: its group, or the step that it is a hook of. */
  readonly owner = new Map<Part, Part>()
  readonly moment = new Map<Part, HookMoment>()
  readonly states = new Map<Part, State>()
  readonly #model: Model

  constructor(model: Model) {
    this.#model = model
    for (const part of model.roots) this.enter(part)
    for (const [moment, part] of model.hooks) this.enter(part, { moment })
  }

  enter(part: Part, { holder, owner, moment }: { holder?: Part; owner?: Part; moment?: HookMoment } = {}): void {
    this.parts.set(part.name, part)
    this.states.set(part, { status: 'pending', reason: undefined, word: undefined })
    if (holder !== undefined) this.holder.set(part, holder)
    if (owner !== undefined) this.owner.set(part, owner)
    if (moment !== undefined) this.moment.set(part, moment)
    for (const child of part.children) this.enter(child, { holder: part, owner: part })
    for (const [own, hook] of part.hooks) this.enter(hook, { owner: part, moment: own })
  }

  named(name: string): Part {
    const part = this.parts.get(name)
    if (part === undefined) throw new Error(`no step ${name}`)
    return part
  }

  /** Returns the step and all its owners. */
  line(part: Part): Part[] {
    const owner = this.owner.get(part)
    return owner === undefined ? [part] : [part, ...this.line(owner)]
  }

  isInside(part: Part, group: Part): boolean {
    const line = this.line(part)
    const at = line.indexOf(group)
    const below = line[at - 1]
    return at > 0 && below !== undefined && !this.moment.has(below)
  }

  isInHook(part: Part): boolean {
    return this.line(part).some((at) => this.moment.has(at))
  }

  isInOnFinish(part: Part): boolean {
    return this.line(part).some((at) => this.moment.get(at) === 'on_finish')
  }

  /** Returns true inside an on_finish hook or a step that read `workflow.result`, which continue after a cancel. */
  isCleanUp(part: Part): boolean {
    return this.isInOnFinish(part) || this.line(part).some((at) => at !== part && at.when?.kind === 'workflow')
  }

  before(part: Part): Part | undefined {
    const holder = this.holder.get(part)
    if (this.moment.has(part) || (holder === undefined ? this.#model.parallel : holder.parallel)) return undefined
    const all = holder === undefined ? this.#model.roots : holder.children
    return all[all.indexOf(part) - 1]
  }

  /** Returns the groups around a step, also those around the steps that hooks belong to. */
  groupsAround(part: Part): Part[] {
    return this.line(part).flatMap((at) => this.holder.get(at) ?? [])
  }

  mentions(part: Part): Part[] {
    const { when } = part
    const names = when?.kind === 'steps' ? when.of.map(({ name }) => name) : when?.kind === 'result' ? [when.name] : []
    const own = this.line(part)
    return names.flatMap((name) => this.line(this.named(name))).filter((other) => !own.includes(other))
  }

  state(part: Part): State {
    const state = this.states.get(part)
    if (state === undefined) throw new Error(`no step ${part.name}`)
    return state
  }

  isFinal(part: Part): boolean {
    return FINAL.includes(this.state(part).status)
  }

  isSettled(part: Part): boolean {
    return this.isFinal(part) && part.hooks.every(([, hook]) => this.isFinal(hook))
  }

  /** Returns true if an on_elected hook failed the build. */
  isUnelected(): boolean {
    const body = [...this.parts.values()].filter((part) => !this.isInHook(part))
    const hooks = [this.#model.hooks, ...body.map((part) => part.hooks)].flat()
    return hooks.some(([moment, hook]) => moment === 'on_elected' && this.state(hook).status === 'error' && hook.failFast)
  }

  counts(part: Part): boolean {
    const holder = this.holder.get(part)
    if (holder === undefined && this.isInHook(part)) return true
    const criteria = holder === undefined ? this.#model.criteria : holder.criteria
    return criteria?.only?.includes(part.name) !== false && criteria?.ignore?.includes(part.name) !== true
  }

  /** Results of a failed or finished step that let another step run. */
  failureConditions(part: Part): { name: string; on: string[] }[] {
    if (part.when?.kind !== 'steps') return []
    const words = ['failure', 'finished', 'denied', 'terminated']
    return part.when.of
      .map(({ name, on }) => ({ name, on: on.filter((word) => words.includes(word)) }))
      .filter(({ on }) => on.length > 0)
  }
}
