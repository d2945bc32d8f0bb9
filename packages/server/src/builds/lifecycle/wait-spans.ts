/** The intervals in which a build waited for an attempt or an approval. */
import { REASON_NAMES, type Reason } from '@windlass/plan'
import type { WaitTime } from '@windlass/protocol'
import { z } from 'zod'
import type { BuildRow, EventRow } from '../../store/schema/schema.ts'

export interface WaitSpan {
  readonly reason: Reason
  readonly start: number
  /** Undefined while the build waits. */
  readonly end: number | undefined
}

const Waiting = z.object({ reason: z.enum(REASON_NAMES) })

/** Returns the waits of a build in order, from its events in order. Other events are ignored. */
export function waitSpansOf(
  build: Pick<BuildRow, 'created_at' | 'finished_at'>,
  events: readonly Pick<EventRow, 'type' | 'at' | 'data'>[],
): WaitSpan[] {
  const found: WaitSpan[] = []
  let open: { reason: Reason; start: number } | undefined = { reason: 'queued', start: build.created_at }
  const change = (at: number, reason: Reason | undefined): void => {
    if (open !== undefined && at > open.start) found.push({ ...open, end: at })
    open = reason === undefined ? undefined : { reason, start: at }
  }
  for (const { type, at, data } of events) {
    if (type === 'build.waiting') change(at, Waiting.safeParse(JSON.parse(data)).data?.reason ?? 'queued')
    if (type === 'build.resumed' || type === 'attempt.lost') change(at, 'queued')
    if (type === 'attempt.created') change(at, undefined)
  }
  if (open === undefined) return found
  if (build.finished_at !== null) change(build.finished_at, undefined)
  else found.push({ ...open, end: undefined })
  return found
}

/** Returns the sums of waits by cause, longest first. */
export function sumWaits(spans: readonly WaitSpan[], now: number): WaitTime[] {
  const sums = new Map<Reason, WaitTime>()
  for (const { reason, start, end } of spans) {
    const ms = (sums.get(reason)?.ms ?? 0) + Math.max(0, (end ?? now) - start)
    sums.set(reason, { reason, ms, ...(end === undefined && { since: start }) })
  }
  return [...sums.values()].toSorted((a, b) => b.ms - a.ms)
}
