/** The cron triggers of a `kind: pipeline` document. */
import { isRecord } from '@windlass/kit/json'
import { nextTick, ScheduleProblem } from '@windlass/plan/schedule'
import { CronTrigger } from '@windlass/protocol'
import { explain, MAX_TRIGGERS, normalize, type TriggerProblem } from '../read-triggers.ts'

export interface ReadCronTriggers {
  readonly triggers: readonly CronTrigger[]
  readonly problems: readonly TriggerProblem[]
}

/** Reads `spec.cronTriggers` as written. `gitTriggers` are `spec.triggers`, whose ids the document may refer to. */
export function readCronTriggers(written: unknown, gitTriggers: unknown): ReadCronTriggers {
  if (!Array.isArray(written)) return { triggers: [], problems: [] }
  const triggers = new Map<string, CronTrigger>()
  const problems: TriggerProblem[] = []
  for (const [index, one] of written.entries()) {
    const read = index < MAX_TRIGGERS ? CronTrigger.safeParse(withGitTrigger(normalize(one), gitTriggers)) : undefined
    const why = read?.data === undefined ? undefined : problemOf(read.data)
    if (read?.data !== undefined && why === undefined) triggers.set(read.data.name, read.data)
    else problems.push({ index, message: explain(one, why === undefined ? read?.error?.issues[0] : { path: [], message: why }) })
  }
  return { triggers: [...triggers.values()], problems }
}

/** Returns why a trigger can never start a build; undefined if it can. */
export function problemOf(trigger: CronTrigger): string | undefined {
  if ((trigger.gitTrigger === undefined) !== (trigger.branch === undefined))
    return 'a Git trigger and a branch must be set together, or neither'
  try {
    nextTick(trigger, 0)
  } catch (error) {
    if (error instanceof ScheduleProblem) return error.message
    throw error
  }
  return undefined
}

/** Documents refer to a Git trigger by its id. Its name stays the same if the document is stored on another server. */
function withGitTrigger(one: unknown, gitTriggers: unknown): unknown {
  if (!isRecord(one) || one['gitTriggerId'] === undefined) return one
  const { gitTriggerId, ...rest } = one
  const found = Array.isArray(gitTriggers)
    ? gitTriggers.find((git: unknown) => isRecord(git) && git['id'] === gitTriggerId)
    : undefined
  return { ...rest, gitTrigger: isRecord(found) ? found['name'] : gitTriggerId }
}
