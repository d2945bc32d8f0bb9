/** What a waiting build waits for, from its waiting reason. */
import type { Reason } from '@windlass/plan'
import type { Capacity, LimitedBuild } from './capacity.ts'

export interface WaitScope {
  /** Builds with the same reason and key wait for the same. For a limit, this is its key in `Capacity.used`. */
  readonly key: string
  /** Number of builds that may run at once. Undefined if no number of builds is the cause. */
  readonly limit?: number | undefined
}

/** Returns the scope; undefined for reasons that concern only one build. */
export function waitScope(capacity: Capacity, reason: Reason, build: LimitedBuild): WaitScope | undefined {
  const { pipeline_id: id, branch, trigger_name: trigger } = build
  const runtime = `runtime/${build.runtime ?? capacity.defaultRuntime}`
  const limits = id === null ? undefined : capacity.pipelines.get(id)
  switch (reason) {
    case 'queued':
    case 'account-paused':
      return { key: 'account' }
    case 'account-limit':
      return { key: 'account', limit: capacity.account.concurrency }
    case 'runtime-missing':
    case 'agent-offline':
      return { key: runtime }
    case 'runtime-capacity':
      return { key: runtime, limit: finite(capacity.runtimes.get(runtime.slice('runtime/'.length))?.capacity) }
    case 'project-limit': {
      const project = id === null ? undefined : capacity.projects.get(id)
      return { key: `project/${project?.id}`, limit: project?.concurrency }
    }
    case 'pipeline-frozen':
    case 'pipeline-limit':
      return { key: `pipeline/${id}`, limit: limits?.concurrency ?? undefined }
    case 'branch-limit':
      return { key: `branch/${id}/${branch}`, limit: limits?.branch_concurrency ?? undefined }
    case 'trigger-limit': {
      const key = `trigger/${id}/${trigger}`
      return { key, limit: capacity.triggers.get(key) ?? limits?.trigger_concurrency ?? undefined }
    }
    default:
      return undefined
  }
}

function finite(limit: number | undefined): number | undefined {
  return limit === undefined || Number.isFinite(limit) ? limit : undefined
}
