/** Records the steps and waits of a build when it ends, for the statistics of its pipeline. */
import { REASON_NAMES, STEP_STATUSES } from '@windlass/plan'
import { z } from 'zod'
import { listAttempts } from '../../store/builds/attempts.ts'
import { insertEndedSteps, LEFT_OUT } from '../../store/builds/stats/ended-steps.ts'
import { statEventsOf, type StatEvent } from '../../store/builds/stats/stat-events.ts'
import type { AttemptRow, BuildRow, EndedStepRow } from '../../store/schema/schema.ts'
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

/** What is kept of an event: without the exports of steps. */
interface Fact extends Omit<StatEvent, 'data'> {
  readonly cause?: string | undefined
  readonly step?: z.output<typeof StepEvent> | undefined
}

/** Stores the rows of a build that has just ended, unless they are stored. Builds without a pipeline have no statistics. */
export async function recordStats(tx: Tx, build: BuildRow): Promise<void> {
  if (build.pipeline_id === null) return
  const { facts, isComplete } = await readFacts(tx, build.id)
  const waited = waitsOf(build, facts, await listAttempts(tx.query, build.id))
  if (!isComplete) waited.set(LEFT_OUT, 0)
  const waits = [...waited].map(([reason, ms]) => ({
    build_id: build.id,
    reason,
    account_id: build.account_id,
    waited_ms: ms,
  }))
  await insertEndedSteps(tx, { steps: stepsOf(build, build.pipeline_id, facts), waits })
}

async function readFacts(tx: Tx, buildId: string): Promise<{ readonly facts: Fact[]; readonly isComplete: boolean }> {
  const facts: Fact[] = []
  let isComplete = true
  for await (const { data, ...event } of statEventsOf(tx.query, buildId)) {
    if (data === undefined) isComplete = false
    else if (event.type === 'build.waiting') facts.push({ ...event, cause: Waiting.safeParse(JSON.parse(data)).data?.reason })
    else if (event.type.startsWith('step.')) facts.push({ ...event, step: StepEvent.safeParse(JSON.parse(data)).data })
    else facts.push(event)
  }
  return { facts, isComplete }
}

/** Returns cause -> time in milliseconds. Times are those of the server. Approvals are not waits: they are the time of a user. */
function waitsOf(build: BuildRow, facts: readonly Fact[], attempts: readonly AttemptRow[]): Map<string, number> {
  const waits = new Map<string, number>()
  let open: { reason: string; since: number } | undefined = { reason: 'queued', since: build.created_at }
  const change = (at: number, reason: string | undefined): void => {
    if (open !== undefined && at > open.since && !APPROVALS.has(open.reason))
      waits.set(open.reason, (waits.get(open.reason) ?? 0) + at - open.since)
    open = reason === undefined ? undefined : { reason, since: at }
  }
  for (const { type, at, cause } of facts) {
    if (type === 'build.waiting') change(at, cause ?? 'queued')
    if (type === 'build.resumed' || type === 'attempt.lost') change(at, 'queued')
    if (type === 'attempt.created') change(at, undefined)
  }
  change(build.finished_at ?? build.created_at, undefined)
  const starts = attempts.reduce((sum, { created_at: from, started_at: to }) => sum + Math.max(0, (to ?? from) - from), 0)
  if (starts > 0) waits.set('start', starts)
  return waits
}

function stepsOf(build: BuildRow, pipelineId: string, facts: readonly Fact[]): EndedStepRow[] {
  const open = new Map<string, number>()
  return facts.flatMap(({ type, attempt, at, step: event }) => {
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
