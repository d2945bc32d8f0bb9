/** Converts the history of builds on the real cluster to the format of the checker of the chaos runs. */
import type { BuildRecord, EngineTrace, History, StepShape } from '../../chaos/history/history.ts'
import { linesOf, type StepSpan } from './witness.ts'

export interface StepWork {
  readonly name: string
  readonly lines: number
  readonly pauseMs: number
}

type Attempt = BuildRecord['attempts'][number] & { readonly createdAt: number; readonly startedAt?: number | undefined }
export type RealRecord = Omit<BuildRecord, 'attempts'> & { readonly attempts: readonly Attempt[] }

/** Returns steps in a row, in the format of the checker. */
export function shapesOf(work: readonly StepWork[]): StepShape[] {
  return work.map(({ name }, n) => ({ name, after: work.slice(Math.max(0, n - 1), n).map((step) => step.name), failFast: true }))
}

/** Returns one trace per attempt: when it had the lease by the server's record, and what its steps did by their own reports. */
export function tracesOf(build: RealRecord, work: readonly StepWork[], spans: readonly StepSpan[]): EngineTrace[] {
  const own = spans.filter(({ buildId }) => buildId === build.id)
  return build.attempts.flatMap((attempt, index) => {
    if (attempt.startedAt === undefined) return []
    const next = build.attempts[index + 1]?.createdAt ?? Number.POSITIVE_INFINITY
    const mine = own.filter(({ from }) => from >= attempt.createdAt && from < next)
    const last = Math.max(attempt.startedAt, ...mine.map(({ to }) => to))
    const isLost = attempt.reason !== undefined && attempt.result !== build.status
    return [
      {
        instance: `${build.id}/${attempt.number}`,
        buildId: build.id,
        attempt: attempt.number,
        startedAt: attempt.createdAt,
        claimedAt: attempt.startedAt,
        endedAt: last,
        end: isLost ? 'killed' : 'finished',
        // Whether the next attempt had the same disk is unknown here.
        volumeKept: false,
        ...(!isLost && { outcome: build.status === 'success' ? 'success' : 'error', outcomeAt: last }),
        steps: mine.map((span) => ({
          name: span.step,
          startedAt: span.from,
          ...(span.isDone && { finishedAt: span.to, status: 'success' as const }),
        })),
        streams: Object.fromEntries(
          Object.entries(build.logs)
            .filter(([key]) => key.startsWith(`${attempt.number}/`))
            .map(([key, log]) => {
              const stream = key.slice(key.indexOf('/') + 1)
              return [stream, { generated: expected(log, { stream, work, ran: mine }), ackedBytes: 0 }] as const
            }),
        ),
      } satisfies EngineTrace,
    ]
  })
}

/** Returns the expected stream: the engine's own lines, and every line of the step in order. */
function expected(
  log: string,
  { stream, work, ran }: { stream: string; work: readonly StepWork[]; ran: readonly StepSpan[] },
): string {
  const step = work.find(({ name }) => stream === `step/${name}`)
  if (step === undefined || !ran.some((span) => span.step === step.name)) return log
  const made = linesOf(step.lines).match(/.*\n/g) ?? []
  const stored =
    Buffer.from(log, 'base64')
      .toString('utf8')
      .match(/.*\n|.+$/g) ?? []
  const lines = stored.map((line) => (line.startsWith('[SYSTEM]') ? line : (made.shift() ?? '')))
  return Buffer.from([...lines, ...made].join('')).toString('base64')
}

/** Yields steps of one build that ran twice at the same time. */
export function* runTwice(spans: readonly StepSpan[]): Generator<{ buildId: string; message: string }> {
  for (const own of Map.groupBy(spans, ({ buildId, step }) => `${buildId} ${step}`).values()) {
    const sorted = own.toSorted((a, b) => a.from - b.from)
    for (const [n, span] of sorted.entries()) {
      const before = sorted[n - 1]
      if (before !== undefined && span.from < before.to)
        yield { buildId: span.buildId, message: `step ${span.step} ran twice at once for ${before.to - span.from} ms` }
    }
  }
}

export type Sightings = History['sightings'][number][]
