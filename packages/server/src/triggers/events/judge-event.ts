/** The rules of triggers for images, charts and ended builds. Pure: an event and a trigger in, a result for each rule out. */
import { PatternError } from '@windlass/plan'
import type { EventTrigger, RuleResult } from '@windlass/protocol'
import type { Artifact } from '../../registries/artifact.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import { matchesFilter } from '../rules/filter.ts'

/** Maximum number of builds that start one another by triggers on their ends. A cycle of pipelines stops there. */
export const MAX_DEPTH = 10

type Rule = RuleResult['rule']
export type ArtifactTrigger = Extract<EventTrigger, { type: 'registry' | 'helm' }>
export type BuildTrigger = Extract<EventTrigger, { type: 'build' }>

/** Returns the result of every rule for an image or a chart. The trigger builds if all of them hold. */
export function judgeArtifact(trigger: ArtifactTrigger, { tag }: Pick<Artifact, 'tag'>): RuleResult[] {
  const [rule, filter]: [Rule, string | undefined] =
    trigger.type === 'registry' ? ['tag', trigger.tag] : ['version', trigger.version]
  return [isEnabled(trigger), filtered(rule, { filter, text: tag })]
}

export interface EndedBuild {
  readonly build: Pick<BuildRow, 'status' | 'branch' | 'depth'>
  /** True if the build was never approved to start. */
  readonly isUnapproved: boolean
  /** True if the pipelines of the build and of the trigger may start each other. */
  readonly isReachable: boolean
}

/** Returns the result of every rule for the end of a build. */
export function judgeBuild(trigger: BuildTrigger, { build, isUnapproved, isReachable }: EndedBuild): RuleResult[] {
  const { status, branch, depth } = build
  const isWanted = trigger.statuses.some((wanted) => wanted === status)
  const statuses = trigger.statuses.join(', ')
  return [
    isEnabled(trigger),
    isUnapproved
      ? no('status', 'The build was not approved, so it never started.')
      : {
          rule: 'status',
          holds: isWanted,
          text: `${status} is ${isWanted ? '' : 'not '}in ${statuses}.`,
          value: status,
          pattern: statuses,
        },
    filtered('branch', { filter: trigger.branchRegex, text: branch ?? undefined }),
    isReachable
      ? yes('project', 'The pipelines may start each other.')
      : no('project', 'The pipelines are in different projects, and the account does not let these start each other.'),
    depth < MAX_DEPTH
      ? yes('depth', `${depth} builds have started one another before.`)
      : no('depth', `${depth} builds have started one another, which is the limit. Look for a cycle of triggers.`),
  ]
}

function isEnabled({ disabled }: EventTrigger): RuleResult {
  return disabled ? no('disabled', 'The trigger is disabled.') : yes('disabled', 'The trigger is enabled.')
}

/** A filter that cannot be used does not hold, and says why. */
function filtered(rule: Rule, { filter, text }: { filter: string | undefined; text: string | undefined }): RuleResult {
  if (filter === undefined) return yes(rule, 'The trigger has no filter.')
  if (text === undefined) return no(rule, 'The event does not name it.')
  try {
    const holds = matchesFilter(filter, text)
    const shown = { value: short(text), pattern: short(filter) }
    return { rule, holds, text: `"${shown.value}" ${holds ? 'matches' : 'does not match'} ${shown.pattern}.`, ...shown }
  } catch (error) {
    if (error instanceof PatternError) return no(rule, `The filter cannot be used: ${error.message}.`)
    throw error
  }
}

const MAX_SHOWN = 120

function short(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

function yes(rule: Rule, text: string): RuleResult {
  return { rule, holds: true, text }
}

function no(rule: Rule, text: string): RuleResult {
  return { rule, holds: false, text }
}
