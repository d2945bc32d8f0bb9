/** Records the steps and waits of a build when it ends, for the statistics of its pipeline. */
import { REASON_NAMES, STEP_STATUSES } from '@windlass/plan'
import { z } from 'zod'
import { listAttempts } from '../../store/builds/attempts.ts'
import { insertEndedSteps } from '../../store/builds/ended-steps.ts'
import { listStatEvents, type StatEvent } from '../../store/builds/stat-events.ts'
import type { AttemptRow, BuildRow, EndedStepRow } from '../../store/schema.ts'
import type { Tx } from '../../store/store.ts'

const APPROVALS: ReadonlySet<string> = new Set(['approval', 'fork-approval'])

const Waiting = z.object({ reason: z.string() })
const StepEvent = z.object({
  step: z.string(),
  try: z.number(),
  status: z.enum(STEP_STATUSES).optional(),
  reason: z.enum(REASON_NAMES).optional().catch(undefined),
  usage: z.object({ memoryPeakBytes: z.number().optional(), cpuMs: z.number().optional() }).optional(),
})

/** Stores the rows of a build that has just ended. Builds without a pipeline have no statistics. */
export async function recordStats(tx: Tx, build: BuildRow): Promise<void> {
  if (build.pipeline_id === null) return
  const events = await listStatEvents(tx.query, build.id)
  const waits = [...waitsOf(build, events, await listAttempts(tx.query, build.id))].map(([reason, waited]) => ({
    build_id: build.id,
    reason,
    account_id: build.account_id,
    waited_ms: waited,
  }))
  await insertEndedSteps(tx, { steps: stepsOf(build, build.pipeline_id, events), waits })
}

/** Returns cause -> time in milliseconds. Times are those of the server. Approvals are not waits: they are the time of a user. */
function waitsOf(build: BuildRow, events: readonly StatEvent[], attempts: readonly AttemptRow[]): Map<string, number> {
  const waits = new Map<string, number>()
  let open: { reason: string; since: number } | undefined = { reason: 'queued', since: build.created_at }
  const change = (at: number, reason: string | undefined): void => {
    if (open !== undefined && at > open.since && !APPROVALS.has(open.reason))
      waits.set(open.reason, (waits.get(open.reason) ?? 0) + at - open.since)
    open = reason === undefined ? undefined : { reason, since: at }
  }
  for (const { type, at, data } of events) {
    if (type === 'build.waiting') change(at, Waiting.safeParse(JSON.parse(data)).data?.reason ?? 'queued')
    if (type === 'build.resumed' || type === 'attempt.lost') change(at, 'queued')
    if (type === 'attempt.created') change(at, undefined)
  }
  change(build.finished_at ?? build.created_at, undefined)
  const starts = attempts.reduce((sum, { created_at: from, started_at: to }) => sum + Math.max(0, (to ?? from) - from), 0)
  if (starts > 0) waits.set('start', starts)
  return waits
}

function stepsOf(build: BuildRow, pipelineId: string, events: readonly StatEvent[]): EndedStepRow[] {
  const open = new Map<string, number>()
  return events.flatMap(({ type, attempt, at, data }) => {
    const event = type.startsWith('step.') ? StepEvent.safeParse(JSON.parse(data)).data : undefined
    if (event === undefined) return []
    const key = `${attempt}/${event.try}/${event.step}`
    if (type === 'step.started') open.set(key, at)
    const startedAt = open.get(key)
    if (type !== 'step.finished' || startedAt === undefined || event.status === undefined) return []
    return [
      {
        build_id: build.id,
        attempt,
        step: event.step,
        try: event.try,
        account_id: build.account_id,
        pipeline_id: pipelineId,
        status: event.status,
        reason: event.reason ?? null,
        started_at: startedAt,
        finished_at: Math.max(startedAt, at),
        memory_bytes: event.usage?.memoryPeakBytes ?? null,
        cpu_ms: event.usage?.cpuMs ?? null,
      },
    ]
  })
}
