/** What a build waits for, by its status and reason. */
import type { Reason } from '@windlass/plan'
import type { BuildRow } from '../../store/schema/schema.ts'

/** Reasons why the daemon may wait while the engine already runs. */
export const DAEMON_WAITS: readonly Reason[] = ['pod-image-error', 'pod-failed', 'node-disk-full']

/** Returns what a build waits for: its reason, `start` for its pods if there is none, or `approval`. Undefined if it works or has ended. */
export function waitOf({ status, reason }: Pick<BuildRow, 'status' | 'reason'>): Reason | 'start' | undefined {
  if (status === 'pending' || status === 'delayed') return reason ?? 'queued'
  if (status === 'elected') return reason ?? 'start'
  if (status === 'pending-approval') return 'approval'
  return status === 'running' && reason !== null && DAEMON_WAITS.includes(reason) ? reason : undefined
}
