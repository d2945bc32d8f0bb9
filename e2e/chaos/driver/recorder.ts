/**
 * The ground truth of a run: what the fake engines did and what the server acknowledged to them, recorded as it happens. The requests of the driver
 * are in `requests.ts`, and the final state of the server is in `collect.ts`.
 */
import { stepOutput, stepVerdict, type FakeObservation, type FakeScript } from '../../support/fake-engines/index.ts'
import { isCallOf } from '@windlass/client'
import { ENGINE_ROUTES } from '@windlass/client/engine'
import { defined, systemClock } from '@windlass/kit'
import type { HttpRequest, Transport } from '@windlass/protocol'
import { z } from 'zod'
import type { EngineEnd, EngineTrace, Harm, PollTrace, StepTrace, StreamTrace, ToldEvent } from '../history/history.ts'

type Loose<T> = { -readonly [K in keyof T]: T[K] }
type OpenTrace = Loose<Omit<EngineTrace, 'steps' | 'streams' | 'polls' | 'told'>> & {
  steps: Loose<Omit<StepTrace, 'verdict'>>[]
  told: Map<number, ToldEvent>
  acked: Map<string, number>
  polls: PollTrace[]
}

export interface Recorder {
  /** Pass this to the fake cluster. */
  observe(observation: FakeObservation): void
  /** The transport for engines. Records what they sent and what was acknowledged. */
  watch(transport: Transport): Transport
  /** Records that the driver is about to kill this engine, so that its end does not count as a stop by the agent. */
  expectKill(buildId: string, attempt: number): void
  /** Number of engines that have claimed their attempt so far. */
  readonly claims: number
  /** Number of frames that were sent while an earlier one of their stream was in flight. */
  readonly framesAhead: number
  /** Returns the keys of the steps of the engines that run. */
  stepKeys(): string[]
  /** Harm done to the engines so far. */
  readonly harms: readonly Harm[]
  /** All engines so far. Output is computed again from the script, which must be the one that the engines ran under. */
  traces(script: FakeScript): EngineTrace[]
}

const Claim = z.object({ buildId: z.string(), attempt: z.int(), token: z.string(), buildToken: z.string().optional() })
const Events = z.object({
  events: z.array(
    z.looseObject({
      seq: z.int(),
      type: z.string(),
      step: z.string().optional(),
      status: z.string().optional(),
      outcome: z.object({ status: z.enum(['success', 'error', 'terminated', 'pending-approval']) }).optional(),
    }),
  ),
})
const Offset = z.object({ offset: z.int() })
const Acked = z.object({ ackSeq: z.int() })

export function openRecorder(): Recorder {
  const open = new Map<string, OpenTrace>()
  const all: OpenTrace[] = []
  const byToken = new Map<string, string>()
  const killed = new Set<string>()
  const harms: Harm[] = []
  let claims = 0
  let framesAhead = 0
  const stepKeys = new Map<OpenTrace, string>()
  const keyOf = (ref: { buildId: string; attempt: number }): string => `${ref.buildId}/${ref.attempt}`

  function observe(observation: FakeObservation): void {
    const key = keyOf(observation)
    if (observation.type === 'claimed') claims += 1
    if (observation.type === 'pod-started') {
      const { buildId, attempt, at } = observation
      const trace: OpenTrace = {
        instance: `${key}#${all.length}`,
        buildId,
        attempt,
        startedAt: at,
        volumeKept: true,
        steps: [],
        told: new Map(),
        ackedSeq: 0,
        acked: new Map(),
        polls: [],
      }
      open.set(key, trace)
      all.push(trace)
      return
    }
    const trace = open.get(key)
    const { buildId, attempt, at } = observation
    if (observation.type === 'pod-ended' && observation.how === 'crashed')
      harms.push({ what: 'crashed engine', buildId, attempt, from: at, to: at })
    if (trace !== undefined) apply(trace, observation, killed.has(key))
  }

  function watch(transport: Transport): Transport {
    return async (request) => {
      const trace = open.get(byToken.get(request.headers['authorization'] ?? '') ?? '')
      if (trace !== undefined && isCallOf(ENGINE_ROUTES.sendEvents, request)) noteEvents(trace, request)
      if (request.headers['x-windlass-ahead'] !== undefined) framesAhead += 1
      const begunAt = systemClock.now()
      const answer = await transport(request)
      const isClaim = isCallOf(ENGINE_ROUTES.claim, request)
      const isFrame = isCallOf(ENGINE_ROUTES.sendFrame, request) && trace !== undefined
      const isPoll = isCallOf(ENGINE_ROUTES.commands, request) && trace !== undefined
      const isReport = isCallOf(ENGINE_ROUTES.sendEvents, request) && trace !== undefined
      if (answer.status !== 200 || (!isClaim && !isFrame && !isPoll && !isReport)) return answer
      const said = await answer.text()
      if (isPoll) trace.polls.push({ begunAt, answeredAt: systemClock.now() })
      if (isReport) trace.ackedSeq = Math.max(trace.ackedSeq ?? 0, Acked.parse(JSON.parse(said)).ackSeq)
      if (isClaim) {
        const claim = Claim.safeParse(JSON.parse(said))
        if (claim.success) {
          byToken.set(`Bearer ${claim.data.token}`, keyOf(claim.data))
          const claimed = open.get(keyOf(claim.data))
          if (claimed !== undefined && claim.data.buildToken !== undefined) stepKeys.set(claimed, claim.data.buildToken)
        }
      } else if (isFrame) {
        const stream = decodeURIComponent(request.headers['x-windlass-stream'] ?? '')
        const { offset } = Offset.parse(JSON.parse(said))
        trace.acked.set(stream, Math.max(offset, trace.acked.get(stream) ?? 0))
      }
      return { ...answer, text: async () => said }
    }
  }

  return {
    observe,
    get claims() {
      return claims
    },
    get framesAhead() {
      return framesAhead
    },
    stepKeys: () => [...stepKeys].flatMap(([{ endedAt }, key]) => (endedAt === undefined ? [key] : [])),
    watch,
    harms,
    expectKill(buildId, attempt) {
      killed.add(keyOf({ buildId, attempt }))
      const now = systemClock.now()
      harms.push({ what: 'killed engine', buildId, attempt, from: now, to: now })
    },
    traces: (script) =>
      all.map(({ acked, told, steps, ...trace }) => ({
        ...trace,
        steps: steps.map((step) => ({ ...step, verdict: stepVerdict(script, { ...trace, step: step.name }) })),
        told: [...told.values()],
        streams: streamsOf({ ...trace, steps }, acked, script),
      })),
  }
}

/** What an engine reported about its steps and its end, received by the server or not. */
function noteEvents(trace: OpenTrace, request: HttpRequest): void {
  if (typeof request.body !== 'string') return
  const { events } = Events.parse(JSON.parse(request.body))
  for (const { seq, type, step, status } of events)
    if (step !== undefined && /^step\.(started|finished)$/.test(type))
      trace.told.set(seq, { seq, type, step, ...defined({ status }) })
  const outcome = events.find(({ type }) => type === 'attempt.finished')?.outcome
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
  // An engine that ended without an acknowledgment gave up: the server returned an error that a retry cannot resolve.
  return how === 'killed' && !isKilled ? 'stopped' : 'killed'
}

/** The output of a step is a function of the seed. The own lines of an engine are fixed. */
function streamsOf(
  trace: Pick<OpenTrace, 'buildId' | 'attempt' | 'claimedAt' | 'steps'>,
  acked: ReadonlyMap<string, number>,
  script: FakeScript,
): Record<string, StreamTrace> {
  const streams: Record<string, StreamTrace> = {}
  if (trace.claimedAt !== undefined) {
    streams['system'] = { generated: Buffer.from('fake engine\n').toString('base64'), ackedBytes: acked.get('system') ?? 0 }
  }
  for (const { name } of trace.steps) {
    const generated = stepOutput(script, { buildId: trace.buildId, attempt: trace.attempt, step: name }).masked.toString('base64')
    streams[`step/${name}`] = { generated, ackedBytes: acked.get(`step/${name}`) ?? 0 }
  }
  return streams
}
