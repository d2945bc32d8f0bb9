import type { App } from '../app.ts'
import { readUntil } from '../read-until.ts'
import { findJob, jobTopic } from '../store/runtimes/agent-jobs.ts'

/** Waits until a job has ended, at most `waitMs`, or until the signal is aborted. */
export async function untilEnded(
  app: App,
  id: string,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<void> {
  await readUntil(app, {
    topic: jobTopic(id),
    waitMs,
    signal,
    read: () => findJob(app.store.query, id),
    isDone: (job) => job === undefined || job.done_at !== null,
  })
}
