import { backoffMs, type Clock } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import { isFinalBuild, type BuildStatus } from '@windlass/plan'
import { requireBuildId } from '../input/build-id.ts'
import type { ApiClient } from '@windlass/client'
import type { Build } from '@windlass/protocol'

const BACKOFF = { baseMs: 100, maxMs: 2_000 }

export interface WaitOptions {
  readonly client: ApiClient
  readonly buildId: string
  readonly clock: Clock
  readonly signal: AbortSignal
  /** A status that also ends the wait. */
  readonly status?: BuildStatus | undefined
  /** True if the server already returned the build, so a missing answer means that the server is unreachable. */
  readonly isKnown?: boolean
}

/**
 * Resolves to the build when it has ended or reached `status`. After a first answer it retries while the server is unreachable.
 * Throws the server's fault, or the signal's reason.
 */
export async function untilFinal(options: WaitOptions): Promise<Build> {
  const { status } = options
  return poll(options, (build) => hasEnded(build) || build.status === status)
}

/** Returns true if the build has ended, also with a final status of a newer server. */
export function hasEnded({ status, finishedAt }: Pick<Build, 'status' | 'finishedAt'>): boolean {
  return isFinalBuild(status) || finishedAt !== undefined
}

/** Returns a build that the server already returned. Retries while the server is unreachable, like `untilFinal`. */
export function getKnownBuild(options: Omit<WaitOptions, 'status' | 'isKnown'>): Promise<Build> {
  return poll({ ...options, isKnown: true }, () => true)
}

async function poll(options: WaitOptions, isEnough: (build: Build) => boolean): Promise<Build> {
  const { client, buildId, clock, signal } = options
  let hasAnswered = options.isKnown ?? false
  for (let n = 1; ; n += 1) {
    signal.throwIfAborted()
    try {
      const build = await client.builds.get(requireBuildId(buildId), { signal })
      hasAnswered = true
      if (isEnough(build)) return build
    } catch (error) {
      if (!hasAnswered || !isFault(error) || !error.retryable) throw error
    }
    await clock.sleep(backoffMs(BACKOFF, n), signal)
  }
}
