/** The trace of a build that has ended: where it waited, its attempts with the parts of their start, and their steps. */
import { defined } from '@windlass/kit'
import { z } from 'zod'
import { waitSpansOf } from '../builds/lifecycle/wait-spans.ts'
import type { TraceFacts } from '../store/builds/trace-facts.ts'
import type { SpanData } from './span.ts'

/** Returns the trace id of a build: its id behind zeros. */
export function traceIdOf(buildId: string): string {
  return buildId.padStart(32, '0')
}

/** Returns the span of a build with everything in it. Times of steps are those of the engine's clock, all others those of the server. */
export function toBuildSpan(facts: TraceFacts): SpanData {
  const { build, attempts } = facts
  const end = build.finished_at ?? build.created_at
  const children = [...waitsOf(facts), ...attempts.map((attempt) => attemptSpan(facts, attempt))]
  return {
    name: `build ${build.pipeline ?? build.id}`,
    start: build.created_at,
    end,
    attributes: present({
      'windlass.build.id': build.id,
      'windlass.build.number': build.number,
      'windlass.build.result': build.status,
      'windlass.build.reason': build.reason,
      'windlass.pipeline': build.pipeline,
      'windlass.project': build.project,
      'windlass.branch': build.branch,
      'windlass.runtime': build.runtime,
      'windlass.trigger': build.trigger,
      'windlass.attempts': attempts.length,
    }),
    ...defined({ error: build.status === 'error' ? (build.reason ?? 'error') : undefined }),
    children: children.toSorted((one, other) => one.start - other.start),
  }
}

/** Returns the intervals in which the build waited for an attempt or an approval, by reason. */
function waitsOf({ build, events }: TraceFacts): SpanData[] {
  return waitSpansOf(build, events).flatMap(({ reason, start, end }) =>
    end === undefined ? [] : [{ name: `wait ${reason}`, start, end, attributes: { 'windlass.wait.reason': reason } }],
  )
}

function attemptSpan(facts: TraceFacts, attempt: TraceFacts['attempts'][number]): SpanData {
  const { build, events } = facts
  const end = attempt.ended_at ?? build.finished_at ?? attempt.created_at
  const own = events.filter((event) => event.attempt === attempt.number)
  const phases: SpanData[] = []
  const phase = (name: string, start: number, until: number): void => {
    if (until > start) phases.push({ name: `start ${name}`, start, end: until, attributes: { 'windlass.start.phase': name } })
  }
  if (attempt.started_at !== null) {
    const ran = Math.min(attempt.engine_since ?? attempt.started_at, attempt.started_at)
    phase('pods', attempt.created_at, ran)
    phase('engine', ran, attempt.started_at)
    const connected = own.find(({ type }) => type === 'attempt.started')
    if (connected !== undefined) phase('daemon', attempt.started_at, Math.min(connected.at, end))
  }
  return {
    name: `attempt ${attempt.number}`,
    start: attempt.created_at,
    end,
    attributes: present({
      'windlass.attempt.number': attempt.number,
      'windlass.attempt.result': attempt.result,
      'windlass.attempt.reason': attempt.reason,
      'windlass.attempt.cause': attempt.cause,
      'windlass.runtime': attempt.runtime,
    }),
    ...defined({
      error: attempt.result === 'lost' || attempt.result === 'error' ? (attempt.reason ?? attempt.result) : undefined,
    }),
    children: [...phases, ...stepsOf(own, end)],
  }
}

const Step = z.object({
  step: z.string(),
  try: z.number().default(1),
  status: z.string().optional(),
  reason: z.string().optional(),
  exitCode: z.number().optional(),
})

/** Returns the steps that started. One without an end ends with the attempt. */
function stepsOf(events: TraceFacts['events'], end: number): SpanData[] {
  const open = new Map<string, number>()
  const found: SpanData[] = []
  const close = (key: string, at: number, { step, status, reason, exitCode, try: attempt }: z.output<typeof Step>): void => {
    const start = open.get(key)
    if (start === undefined) return
    open.delete(key)
    found.push({
      name: `step ${step}`,
      start,
      end: at,
      attributes: present({
        'windlass.step.name': step,
        'windlass.step.try': attempt,
        'windlass.step.result': status,
        'windlass.step.reason': reason,
        'windlass.step.exit_code': exitCode,
      }),
      ...defined({ error: status === 'error' ? (reason ?? 'error') : undefined }),
    })
  }
  const last = new Map<string, z.output<typeof Step>>()
  for (const { type, at, data } of events) {
    const event = type.startsWith('step.') ? Step.safeParse(JSON.parse(data)).data : undefined
    if (event === undefined) continue
    const key = `${event.step} ${event.try}`
    last.set(key, event)
    if (type === 'step.started') open.set(key, at)
    else close(key, at, event)
  }
  for (const key of open.keys()) close(key, end, last.get(key) ?? { step: key, try: 1 })
  return found
}

type Attributes = SpanData['attributes']

function present(values: Readonly<Record<string, string | number | boolean | null | undefined>>): Attributes {
  return Object.fromEntries(
    Object.entries(values).filter(
      (entry): entry is [string, string | number | boolean] => entry[1] !== null && entry[1] !== undefined,
    ),
  )
}
