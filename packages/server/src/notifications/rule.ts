/** Which builds a notification reports. Pure. */
import { PatternError } from '@windlass/plan'
import { NotifyOn, type NoticeType } from '@windlass/protocol'
import { z } from 'zod'
import type { BuildRow } from '../store/schema/schema.ts'
import { matchesFilter } from '../triggers/rules/filter.ts'

/** A rule as it is stored: pipelines and projects by id, so that another pipeline of the same name is not reported. */
export const StoredRule = z.object({
  on: z.array(NotifyOn),
  mine: z.boolean(),
  pipelines: z.array(z.string()),
  projects: z.array(z.string()),
  branch: z.string().optional(),
})
export type StoredRule = z.infer<typeof StoredRule>

/** What happened to a build. */
export interface Happening {
  readonly type: Exclude<NoticeType, 'test'>
  /** The step that waits for an approval. */
  readonly step?: string | undefined
}

export type Reported = Pick<BuildRow, 'pipeline_id' | 'project_id' | 'branch' | 'initiator'>

/** Returns true if the rule reports this. `owner` is the name of the user to whom the rule belongs. */
export function matchesRule(rule: StoredRule, happening: Happening, of: { build: Reported; owner: string | undefined }): boolean {
  return isReported(rule.on, happening.type) && isWatched(rule, of) && isOnBranch(rule.branch, of.build.branch)
}

function isReported(on: readonly NotifyOn[], type: Happening['type']): boolean {
  switch (type) {
    case 'build.waiting':
      return on.includes('approval')
    case 'build.failed':
      return on.includes('failure') || on.includes('always')
    case 'build.recovered':
      return on.includes('recovery') || on.includes('always')
    case 'build.succeeded':
    case 'build.terminated':
      return on.includes('always')
  }
}

function isWatched(
  { mine, pipelines, projects }: StoredRule,
  { build, owner }: { build: Reported; owner: string | undefined },
): boolean {
  if (!mine && pipelines.length === 0 && projects.length === 0) return true
  if (mine && owner !== undefined && build.initiator === owner) return true
  if (build.pipeline_id !== null && pipelines.includes(build.pipeline_id)) return true
  return build.project_id !== null && projects.includes(build.project_id)
}

/** A filter that takes too long matches nothing. */
function isOnBranch(filter: string | undefined, branch: string | null): boolean {
  if (filter === undefined) return true
  try {
    return matchesFilter(filter, branch ?? '')
  } catch (error) {
    if (error instanceof PatternError) return false
    throw error
  }
}
