import { expect, test } from 'vitest'
import type { TraceFacts } from '../store/builds/trace-facts.ts'
import { toBuildSpan, traceIdOf } from './build-trace.ts'
import type { SpanData } from './span.ts'
import { parseTraceParent } from './traces.ts'

const ID = '0123456789abcdef01234567'
const event = (type: string, attempt: number, at: number, data: object = {}): TraceFacts['events'][number] => ({
  type,
  attempt,
  at,
  data: JSON.stringify(data),
})
const attempt = (number: number, times: object): TraceFacts['attempts'][number] =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only the columns that a trace reads
  ({
    number,
    runtime: 'prod',
    result: 'success',
    reason: null,
    cause: null,
    engine_since: null,
    started_at: null,
    ended_at: null,
    ...times,
  }) as never
const facts = (more: Partial<TraceFacts>): TraceFacts => ({
  build: {
    id: ID,
    number: 7,
    status: 'success',
    reason: null,
    pipeline: 'team/app',
    project: 'team',
    branch: 'main',
    runtime: 'prod',
    trigger: 'manual',
    created_at: 1000,
    finished_at: 9000,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only the columns that a trace reads
  } as never,
  attempts: [],
  events: [],
  ...more,
})
const shown = (spans: readonly SpanData[] = []): string[] => spans.map(({ name, start, end }) => `${name} ${start}-${end}`)

test('the id of a trace is that of the build behind zeros', () => {
  expect(traceIdOf(ID)).toBe(`00000000${ID}`)
})

test('shows each wait by its reason, the parts of a start, and steps without an end', () => {
  const { children = [], error } = toBuildSpan(
    facts({
      attempts: [
        attempt(1, { created_at: 3000, engine_since: 3500, started_at: 3600, ended_at: 5000, result: 'pending-approval' }),
        attempt(2, { created_at: 7000, started_at: 7200, ended_at: 9000 }),
      ],
      events: [
        event('build.waiting', 0, 1500, { reason: 'pipeline-limit' }),
        event('attempt.created', 1, 3000),
        event('attempt.started', 1, 4000),
        event('step.started', 1, 4000, { step: 'one', try: 1 }),
        event('step.finished', 1, 4500, { step: 'one', try: 1, status: 'success', exitCode: 0 }),
        event('build.waiting', 1, 5000, { reason: 'approval' }),
        event('build.resumed', 1, 6000),
        event('attempt.created', 2, 7000),
        event('step.started', 2, 7500, { step: 'two', try: 1 }),
      ],
    }),
  )
  expect(error).toBeUndefined()
  expect(shown(children)).toEqual([
    'wait queued 1000-1500',
    'wait pipeline-limit 1500-3000',
    'attempt 1 3000-5000',
    'wait approval 5000-6000',
    'wait queued 6000-7000',
    'attempt 2 7000-9000',
  ])
  expect(shown(children[2]?.children)).toEqual([
    'start pods 3000-3500',
    'start engine 3500-3600',
    'start daemon 3600-4000',
    'step one 4000-4500',
  ])
  expect(shown(children[5]?.children)).toEqual(['start pods 7000-7200', 'step two 7500-9000'])
})

test('accepts only a traceparent of version 00 with ids', () => {
  const [trace, span] = ['a'.repeat(32), 'b'.repeat(16)]
  expect(parseTraceParent(`00-${trace}-${span}-01`)).toEqual({ traceId: trace, spanId: span, isSampled: true })
  expect(parseTraceParent(`00-${trace}-${span}-00`)?.isSampled).toBe(false)
  for (const header of [
    undefined,
    '',
    'x',
    `01-${trace}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${span}-01-x`,
  ])
    expect(parseTraceParent(header)).toBeUndefined()
})
