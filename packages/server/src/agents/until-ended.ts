import type { App } from '../app.ts'
import { findJob, jobTopic } from '../store/runtimes/agent-jobs.ts'

/** Waits until a job has ended, at most `waitMs`, or until the signal is aborted. */
export async function untilEnded(
  { clock, store }: App,
  id: string,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const until = clock.monotonic() + waitMs
  using watch = store.watch(jobTopic(id))
  for (;;) {
    const job = await findJob(store.query, id)
    const rest = until - clock.monotonic()
    if (job === undefined || job.done_at !== null || rest <= 0 || signal.aborted) return
    await watch.next(Math.min(rest, store.pollMs), signal)
  }
}
