/** Triggers of all kinds as one list, each with what starts its builds. Pure. */
import { describeSchedule, nextTicks } from '@windlass/plan/schedule'
import type { Delivery, PipelineCronTrigger, PipelineEventTrigger, PipelineTrigger } from '@windlass/protocol'

export type AnyTrigger = PipelineTrigger | PipelineCronTrigger | PipelineEventTrigger

/** Returns one sentence about what starts builds of a trigger. */
export function describeTrigger(trigger: AnyTrigger): string {
  switch (trigger.type) {
    case 'git':
      return describeGit(trigger)
    case 'cron':
      return `${wordsOf(trigger.expression)}, ${trigger.timezone}`
    case 'registry':
      return `Image ${trigger.image}${trigger.tag === undefined ? '' : `, tags ${trigger.tag}`}`
    case 'helm':
      return `Chart ${trigger.chart}${trigger.version === undefined ? '' : `, versions ${trigger.version}`}`
    case 'build':
      return `Builds of ${trigger.source} that end with ${trigger.statuses.join(' or ')}${filterOf('branch', trigger.branchRegex)}`
  }
}

function describeGit(trigger: PipelineTrigger): string {
  const { repo, events, branchRegex, branchRegexInput, pullRequestTargetBranchRegex, commentRegex, modifiedFilesGlob } = trigger
  const filters = [
    filterOf(branchRegexInput === 'multiselect-exclude' ? 'branch not' : 'branch', branchRegex),
    filterOf('target', pullRequestTargetBranchRegex),
    filterOf('comment', commentRegex),
    filterOf('files', modifiedFilesGlob),
  ]
  return `${events.join(', ')} of ${repo}${filters.join('')}`
}

function filterOf(word: string, filter: string | undefined): string {
  return filter === undefined ? '' : `, ${word} ${filter}`
}

/** Returns the words of an expression, or the expression itself if it cannot be read. */
function wordsOf(expression: string): string {
  try {
    return describeSchedule(expression)
  } catch {
    return expression
  }
}

/** Returns the next times of a schedule in its zone, such as `Thu 26 Nov, 09:00`. Throws `ScheduleProblem`. */
export function showNextTimes(schedule: { readonly expression: string; readonly timezone: string }, now: number): string[] {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: schedule.timezone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })
  return nextTicks(schedule, now, SHOWN_TIMES).map((tick) => format.format(tick))
}

const SHOWN_TIMES = 3

/** Returns the newest of some deliveries that was about the subject of a trigger. */
export function lastDeliveryOf(trigger: AnyTrigger, deliveries: readonly Delivery[]): Delivery | undefined {
  switch (trigger.type) {
    case 'git':
      return deliveries.find(({ repo, forge }) => forge !== undefined && repo === trigger.repo.toLowerCase())
    case 'registry':
      return deliveries.find(({ repo, registry }) => registry !== undefined && repo === trigger.image.toLowerCase())
    case 'helm':
      return deliveries.find(({ repo, registry }) => registry !== undefined && repo === trigger.chart.toLowerCase())
    case 'build':
      return deliveries.find(({ forge, registry }) => forge === undefined && registry === undefined)
    case 'cron':
      return undefined
  }
}

type Stored = 'id' | 'origin' | 'createdAt' | 'updatedAt'
/** A trigger without what the server adds. */
export type InputOf<T> = T extends unknown ? Omit<T, Stored> : never

/** Returns a stored trigger as the input that stores it again. */
export function toInput<T extends AnyTrigger>(trigger: T): InputOf<T> {
  const { id: _id, origin: _origin, createdAt: _created, updatedAt: _updated, ...input } = trigger
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the compiler does not distribute the rest over a union
  return input as unknown as InputOf<T>
}
