/**
 * When the steps of a plan start and end, given how long each takes, and which chain of steps decides the end. Linear in the number of steps and of
 * their dependencies.
 */
import type { HookMoment } from '../plan.ts'

/** A step with what it waits for, as a preview has it. */
export interface ScheduledStep {
  readonly name: string
  readonly after: readonly string[]
  readonly parent?: string | undefined
  readonly hook?: { readonly moment: HookMoment; readonly of?: string | undefined } | undefined
}

/** Returns the end of a step that could start at a time. Groups end with their last step. Milliseconds. */
export type EndOf = (step: string, start: number) => number

export interface StepSchedule {
  /** The latest end of all steps. Milliseconds, or `from` without steps. */
  readonly end: number
  /** The steps that decide the end, in their order, without groups. */
  readonly critical: readonly string[]
}

/**
 * The three moments of a step: it may start, it has ended, and its hooks have ended too. A moment waits for earlier ones and comes with the latest of
 * them.
 */
type Moment = 'start' | 'end' | 'over'

interface Event {
  readonly step: string
  readonly moment: Moment
  readonly isGroup: boolean
  readonly waitsFor: Event[]
  readonly followers: Event[]
  open: number
  at: number
  decider: Event | undefined
}

/** Computes the schedule of a plan whose first steps start at `from`. Steps that wait for each other in a cycle are left out. */
export function scheduleOf(steps: readonly ScheduledStep[], endOf: EndOf, from = 0): StepSchedule {
  const events = linkEvents(steps)
  for (const event of events) event.open = event.waitsFor.length
  const ready = events.filter(({ open }) => open === 0)
  let last: Event | undefined
  for (let event = ready.pop(); event !== undefined; event = ready.pop()) {
    settle(event, endOf, from)
    if (event.moment === 'end' && !event.isGroup && event.at > (last?.at ?? from)) last = event
    for (const follower of event.followers) if ((follower.open -= 1) === 0) ready.push(follower)
  }
  return { end: last?.at ?? from, critical: chainTo(last) }
}

function settle(event: Event, endOf: EndOf, from: number): void {
  event.decider = event.waitsFor.reduce<Event | undefined>(
    (latest, one) => (latest === undefined || one.at > latest.at ? one : latest),
    undefined,
  )
  const earliest = Math.max(from, event.decider?.at ?? from)
  event.at = event.moment === 'end' && !event.isGroup ? endOf(event.step, earliest) : earliest
}

function chainTo(last: Event | undefined): string[] {
  const chain: string[] = []
  for (let at = last; at !== undefined; at = at.decider) if (at.moment === 'end' && !at.isGroup) chain.push(at.step)
  return chain.toReversed()
}

interface Trio {
  readonly start: Event
  readonly end: Event
  readonly over: Event
}

function linkEvents(steps: readonly ScheduledStep[]): Event[] {
  const groups = new Set(steps.flatMap(({ parent, hook }) => (parent === undefined || hook !== undefined ? [] : [parent])))
  const trios = new Map(steps.map(({ name }) => [name, trioOf(name, groups.has(name))]))
  const wait = (event: Event, before: Event | undefined): void => {
    if (before === undefined) return
    event.waitsFor.push(before)
    before.followers.push(event)
  }
  for (const { start, end, over } of trios.values()) {
    wait(end, start)
    wait(over, end)
  }
  const byName = new Map(steps.map((step) => [step.name, step]))
  for (const step of steps) {
    const own = trios.get(step.name)
    if (own === undefined) continue
    for (const name of step.after) wait(own.start, trios.get(name)?.over)
    if (step.hook === undefined) {
      const group = trios.get(step.parent ?? '')
      wait(own.start, group?.start)
      if (group !== undefined) wait(group.end, own.over)
    } else linkHook(own, { hook: step.hook, trios, byName, wait })
  }
  return [...trios.values()].flatMap(({ start, end, over }) => [start, end, over])
}

interface Links {
  readonly hook: NonNullable<ScheduledStep['hook']>
  readonly trios: ReadonlyMap<string, Trio>
  readonly byName: ReadonlyMap<string, ScheduledStep>
  readonly wait: (event: Event, before: Event | undefined) => void
}

/** A hook runs before its step, or after it. Hooks of the build run before or after all other steps. */
function linkHook(own: Trio, { hook, trios, byName, wait }: Links): void {
  const isBefore = hook.moment === 'on_elected'
  const owners = hook.of === undefined ? [...byName.values()].filter(isRoot) : [byName.get(hook.of)]
  for (const owner of owners) {
    const trio = trios.get(owner?.name ?? '')
    if (owner === undefined || trio === undefined) continue
    if (!isBefore) {
      wait(own.start, hook.of === undefined ? trio.over : trio.end)
      if (hook.of !== undefined) wait(trio.over, own.over)
      continue
    }
    wait(trio.start, own.over)
    if (hook.of === undefined) continue
    for (const name of owner.after) wait(own.start, trios.get(name)?.over)
    wait(own.start, trios.get(owner.parent ?? '')?.start)
  }
}

function isRoot({ parent, hook }: ScheduledStep): boolean {
  return parent === undefined && hook === undefined
}

function trioOf(step: string, isGroup: boolean): Trio {
  const event = (moment: Moment): Event => ({
    step,
    moment,
    isGroup,
    waitsFor: [],
    followers: [],
    open: 0,
    at: 0,
    decider: undefined,
  })
  return { start: event('start'), end: event('end'), over: event('over') }
}

/** A step of a build that has begun, with its usual time. Times are epoch milliseconds. */
export interface TimedStep {
  readonly status: string
  readonly startedAt?: number | undefined
  readonly finishedAt?: number | undefined
  /** Median time of earlier builds. Milliseconds; undefined if it never ran. */
  readonly usualMs?: number | undefined
}

/**
 * Returns when a build usually ends. A running step takes its usual time, and at least until now. A pending one takes its usual time from now on. The time of
 * an open approval is not known and does not count.
 */
export function usualEnd(
  steps: readonly ScheduledStep[],
  stateOf: (step: string) => TimedStep | undefined,
  { from, now }: { readonly from: number; readonly now: number },
): number {
  const endOf = (name: string, start: number): number => {
    const { status = 'pending', startedAt, finishedAt, usualMs = 0 } = stateOf(name) ?? {}
    if (finishedAt !== undefined) return finishedAt
    if (startedAt !== undefined) return Math.max(now, startedAt + usualMs)
    return status === 'pending' ? Math.max(now, start) + usualMs : start
  }
  return scheduleOf(steps, endOf, from).end
}

/** Returns the steps that decided how long a build took: each started when the one before it had ended. */
export function criticalPath(
  steps: readonly ScheduledStep[],
  stateOf: (step: string) => Pick<TimedStep, 'startedAt' | 'finishedAt'> | undefined,
  now: number,
): readonly string[] {
  const timeOf = (name: string): number => {
    const { startedAt, finishedAt } = stateOf(name) ?? {}
    return startedAt === undefined ? 0 : Math.max(0, (finishedAt ?? now) - startedAt)
  }
  return scheduleOf(steps, (name, start) => start + timeOf(name)).critical.filter((name) => timeOf(name) > 0)
}
