/** The end of an attempt: its last event, and the removal of what it created on the daemon. */
import { isInfra } from '@windlass/plan'
import type { AttemptOutcome } from '@windlass/protocol'
import { clip } from '../attempt/clip.ts'
import type { AttemptContext } from '../attempt/context.ts'
import type { AttemptOptions } from '../attempt/input.ts'
import { removeLeftovers } from '../attempt/workspace.ts'
import { redactEvent } from '../secrets/redact-event.ts'

/** Writes the outcome with length and hash of every stream, once all of their bytes are on the disk. */
export async function recordOutcome(
  { journal, log }: Pick<AttemptOptions, 'journal' | 'log'>,
  outcome: AttemptOutcome,
  redact: (text: string) => string,
): Promise<void> {
  const streams: Record<string, { bytes: number; sha256: string }> = {}
  for (const [name, { bytes, sha256 }] of Object.entries(await journal.totals())) {
    streams[name] = { bytes, sha256: sha256 ?? '' }
    await journal.flushed(name).catch((error: unknown) => log.warn({ err: error, stream: name }, 'log is incomplete'))
  }
  const final = { ...outcome, message: clip(outcome.message) }
  journal.appendLast(redactEvent({ type: 'attempt.finished', outcome: final, streams }, redact))
}

/**
 * Removes what the attempt created on the daemon. After an infrastructure failure or a pending approval, the state of the build is kept for the next
 * attempt.
 */
export async function closeContext(context: AttemptContext, outcome: AttemptOutcome | undefined): Promise<void> {
  const isOver = outcome !== undefined && outcome.status !== 'pending-approval'
  const forget = isOver && (outcome.reason === undefined || !isInfra(outcome.reason))
  await Promise.all([...context.cleanups, context.namespaces.settled()])
  await context.workspace.close({ forget }).catch((error: unknown) => context.log.warn({ err: error }, 'clean-up failed'))
  if (context.deferredCleanups.size === 0) return
  await Promise.all(context.deferredCleanups)
  // Each container may have been removed twice at the same time, and then neither removal could free its network.
  const { docker, input, log } = context
  await removeLeftovers(docker, input.buildId).catch((error: unknown) => log.warn({ err: error }, 'clean-up failed'))
}
