import { backoffMs, type Clock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import { isFinalBuild, type BuildStatus } from '@windlass/plan'
import type { Build, Client } from '@windlass/protocol'
import { getBuild } from '../api.ts'

const BACKOFF = { baseMs: 100, maxMs: 2_000 }

export interface WaitOptions {
  readonly client: Client
  readonly buildId: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** This status is as good as the end. */
  readonly status?: BuildStatus | undefined
}

/** The build once it has ended, or has the status that is waited for. Goes on through a server that is away for a while; throws its fault, or the signal's reason. */
export async function untilFinal({ client, buildId, clock, signal, status }: WaitOptions): Promise<Build> {
  let hasAnswered = false
  for (let n = 1; ; n += 1) {
    signal.throwIfAborted()
    try {
      const build = await getBuild(client, buildId, signal)
      hasAnswered = true
      if (isFinalBuild(build.status) || build.status === status) return build
    } catch (error) {
      if (!hasAnswered || !isFault(error) || !error.retryable) throw error
    }
    await clock.sleep(backoffMs(BACKOFF, n), signal)
  }
}
