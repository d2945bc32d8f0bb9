/** The triggers for images, charts and ended builds of a `kind: pipeline` document, which are in `spec.triggers` beside the Git triggers. */
import { isRecord } from '@windlass/kit/json'
import { PatternError } from '@windlass/plan'
import { EVENT_TRIGGER_TYPES, EventTrigger } from '@windlass/protocol'
import { checkFilter } from '../rules/filter.ts'
import { explain, MAX_TRIGGERS, normalize, type TriggerProblem } from '../read-triggers.ts'

export interface ReadEventTriggers {
  readonly triggers: readonly EventTrigger[]
  readonly problems: readonly TriggerProblem[]
}

/** Returns true if an entry of `spec.triggers` is such a trigger. */
export function isEventTrigger(one: unknown): boolean {
  return isRecord(one) && EVENT_TRIGGER_TYPES.some((type) => type === one['type'])
}

/** Reads `spec.triggers` of the named pipeline as written. The last of several triggers with one name counts. */
export function readEventTriggers(written: unknown, pipeline: string): ReadEventTriggers {
  if (!Array.isArray(written)) return { triggers: [], problems: [] }
  const triggers = new Map<string, EventTrigger>()
  const problems: TriggerProblem[] = []
  for (const [index, one] of written.entries()) {
    if (!isEventTrigger(one)) continue
    const read = index < MAX_TRIGGERS ? EventTrigger.safeParse(normalize(one)) : undefined
    const why = read?.data === undefined ? undefined : problemOf(read.data, [pipeline])
    if (read?.data !== undefined && why === undefined) triggers.set(read.data.name, read.data)
    else problems.push({ index, message: explain(one, why === undefined ? read?.error?.issues[0] : { path: [], message: why }) })
  }
  return { triggers: [...triggers.values()], problems }
}

/** Returns why a trigger of a pipeline, given by its name and id, can never start a build; undefined if it can. */
export function problemOf(trigger: EventTrigger, pipeline: readonly string[]): string | undefined {
  if (trigger.type === 'build' && pipeline.includes(trigger.source)) return 'a pipeline cannot wait for its own builds'
  const filters = { registry: 'tag', helm: 'version', build: 'branchRegex' } as const
  const filter = trigger.type === 'registry' ? trigger.tag : trigger.type === 'helm' ? trigger.version : trigger.branchRegex
  try {
    if (filter !== undefined) checkFilter(filter)
  } catch (error) {
    if (error instanceof PatternError) return `${filters[trigger.type]} cannot be used: ${error.message}`
    throw error
  }
  return undefined
}
