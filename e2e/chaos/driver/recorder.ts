/**
 * The truth of a run: what the fake engines really did and what the server acknowledged to them, gathered while it happens.
 * Not here: what the driver asked (`requests.ts`) and what the server says afterwards (`collect.ts`).
 */
import { stepOutput, stepOutputBytes, type FakeObservation, type FakeScript } from '@windlass/agent/fake'
import { systemClock } from '@windlass/kit'
import type { HttpRequest, Transport } from '@windlass/protocol'
import { z } from 'zod'
import type { EngineEnd, EngineTrace, StepTrace, StreamTrace } from '../history/history.ts'

type Loose<T> = { -readonly [K in keyof T]: T[K] }
type OpenTrace = Loose<Omit<EngineTrace, 'steps' | 'streams'>> & { steps: Loose<StepTrace>[]; acked: Map<string, number> }

export interface Recorder {
  /** Hand this to the fake cluster. */
  observe(observation: FakeObservation): void
  /** The transport for engines: notes what they sent and what was acknowledged. */
  watch(transport: Transport): Transport
  /** Notes that the driver is about to kill this engine, so that its end is not taken for a stop by the agent. */
  expectKill(buildId: string, attempt: number): void
  /** Every engine so far. Output is made again from the script, which must be the one that the engines ran under. */
  traces(script: FakeScript): EngineTrace[]
}

const Claim = z.object({ buildId: z.string(), attempt: z.int(), token: z.string() })
const Events = z.object({
  events: z.array(
    z.looseObject({
      type: z.string(),
      outcome: z.object({ status: z.enum(['success', 'error', 'terminated', 'pending-approval']) }).optional(),
    }),
  ),
})
const Offset = z.object({ offset: z.int() })

export function openRecorder(): Recorder {
  const open = new Map<string, OpenTrace>()
  const all: OpenTrace[] = []
  const byToken = new Map<string, string>()
  const killed = new Set<string>()
  const keyOf = (ref: { buildId: string; attempt: number }): string => `${ref.buildId}/${ref.attempt}`

  function observe(observation: FakeObservation): void {
    const key = keyOf(observation)
    if (observation.type === 'pod-started') {
      const { buildId, attempt, at } = observation
      const trace: OpenTrace = {
        instance: `${key}#${all.length}`,
        buildId,
        attempt,
        startedAt: at,
        volumeKept: true,
        steps: [],
        acked: new Map(),
      }
      open.set(key, trace)
      all.push(trace)
      return
    }
    const trace = open.get(key)
    if (trace !== undefined) apply(trace, observation, killed.has(key))
  }

  function watch(transport: Transport): Transport {
    return async (request) => {
      const path = new URL(request.url).pathname
      const trace = open.get(byToken.get(request.headers['authorization'] ?? '') ?? '')
      if (trace !== undefined && path === '/v1/engine/events') noteOutcome(trace, request)
      const answer = await transport(request)
      const isClaim = path === '/v1/engine/claim'
      const isFrame = path === '/v1/engine/logs' && trace !== undefined
      if (answer.status !== 200 || (!isClaim && !isFrame)) return answer
      const said = await answer.text()
      if (isClaim) {
        const claim = Claim.safeParse(JSON.parse(said))
        if (claim.success) byToken.set(`Bearer ${claim.data.token}`, keyOf(claim.data))
      } else if (trace !== undefined) {
        const stream = decodeURIComponent(request.headers['x-windlass-stream'] ?? '')
        const { offset } = Offset.parse(JSON.parse(said))
        trace.acked.set(stream, Math.max(offset, trace.acked.get(stream) ?? 0))
      }
      return { ...answer, text: async () => said }
    }
  }

  return {
    observe,
    watch,
    expectKill: (buildId, attempt) => void killed.add(keyOf({ buildId, attempt })),
    traces: (script) => all.map(({ acked, ...trace }) => ({ ...trace, streams: streamsOf(trace, acked, script) })),
  }
}

/** What an engine said of its end, whether or not the server heard it. */
function noteOutcome(trace: OpenTrace, request: HttpRequest): void {
  if (typeof request.body !== 'string') return
  const said = Events.safeParse(JSON.parse(request.body))
  const outcome = said.data?.events.find(({ type }) => type === 'attempt.finished')?.outcome
  if (outcome === undefined) return
  trace.outcome = outcome.status
  trace.outcomeAt ??= systemClock.now()
}

function apply(trace: OpenTrace, observation: FakeObservation, isKilled: boolean): void {
  const { at } = observation
  switch (observation.type) {
    case 'claimed':
      trace.claimedAt = at
      break
    case 'step-started':
      trace.steps.push({ name: observation.step, startedAt: at })
      break
    case 'step-ended': {
      const step = trace.steps.find(({ name, finishedAt }) => name === observation.step && finishedAt === undefined)
      if (step !== undefined) Object.assign(step, { finishedAt: at, status: observation.status })
      break
    }
    case 'finished':
      trace.end = 'finished'
      break
    case 'fenced':
      trace.end ??= trace.claimedAt === undefined ? 'refused' : 'fenced'
      break
    case 'pod-ended':
      trace.endedAt = at
      trace.end ??= endOf(observation.how, isKilled)
      break
    case 'pod-started':
    case 'finishing':
      break
  }
}

function endOf(how: 'ended' | 'crashed' | 'killed', isKilled: boolean): EngineEnd {
  // One that ended without having been heard gave up: the server answered with something that no repetition mends.
  return how === 'killed' && !isKilled ? 'stopped' : 'killed'
}

/** The output of a step is a function of the seed; what an engine's own lines are is fixed. */
function streamsOf(
  trace: Omit<OpenTrace, 'acked'>,
  acked: ReadonlyMap<string, number>,
  script: FakeScript,
): Record<string, StreamTrace> {
  const streams: Record<string, StreamTrace> = {}
  if (trace.claimedAt !== undefined) {
    streams['system'] = { generated: Buffer.from('fake engine\n').toString('base64'), ackedBytes: acked.get('system') ?? 0 }
  }
  for (const { name } of trace.steps) {
    const run = { seed: script.seed, buildId: trace.buildId, attempt: trace.attempt, step: name }
    const generated = stepOutput(run, stepOutputBytes(script, run)).toString('base64')
    streams[`step/${name}`] = { generated, ackedBytes: acked.get(`step/${name}`) ?? 0 }
  }
  return streams
}
