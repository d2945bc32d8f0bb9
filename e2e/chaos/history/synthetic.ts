/** Histories of a correct system, generated from a seed. The mutants of `mutants.ts` each break one invariant of them. */
import type { FeedItem } from '@windlass/protocol'
import { seededRandom, type Random } from '../faults/random.ts'
import type { BuildRecord, EngineTrace, Harm, History, Operation, Sighting, StepShape, StepTrace, ToldEvent } from './history.ts'

const BUILDS = 12
const DISKS = 4

interface Made {
  readonly operations: Operation[]
  readonly engines: EngineTrace[]
  readonly build: BuildRecord
  readonly sightings: Sighting[]
}

/**
 * Returns a clean history of twelve builds of two pipelines: one in four loses its first attempt, one in four fails, one is canceled, one trigger is
 * refused. Two builds of a pipeline run at a time.
 */
export function syntheticHistory(seed: number): History {
  const random = seededRandom(seed)
  const made = Array.from({ length: BUILDS }, (_, n) => makeBuild(n, random))
  const refused: Operation = { ...triggerOf('refused', 1_000, 90_000), result: 'fail', fault: 'pipeline-invalid' }
  const oldest = { buildId: made[0]?.build.id ?? '', finishedAt: 50_000, seenAt: 150_000, at: 150_000 }
  return {
    seed,
    startedAt: 1_000,
    endedAt: 200_000,
    limits: {
      pipelines: { 'demo/a': 2, 'demo/b': 2 },
      runtimes: { fake: 4 },
      branches: { 'demo/a': 2 },
      triggers: { 'demo/b': 2 },
      account: 4,
    },
    secrets: ['hunter2-hunter2', 'grün/"schlüssel" 7'],
    operations: [refused, ...made.flatMap(({ operations }) => operations)],
    engines: made.flatMap(({ engines }) => engines),
    builds: made.map(({ build }) => build),
    sightings: made.flatMap(({ sightings }) => sightings).toSorted((a, b) => a.at - b.at),
    leftovers: [],
    texts: [{ where: 'the database', text: 'id|status\n1|success' }],
    retention: { logMs: 90_000, buildMs: 100_000, expired: [oldest], removed: [{ ...oldest, buildId: 'd'.repeat(24) }] },
    harms: made.flatMap(({ engines }) => engines.filter(({ end }) => end === 'killed').map(killOf)),
  }
}

function killOf({ buildId, attempt, endedAt = 0 }: EngineTrace): Harm {
  return { what: 'killed engine', buildId, attempt, from: endedAt, to: endedAt }
}

export const STEPS: readonly StepShape[] = ['clone', 'test', 'image'].map((name, n, all) => ({
  name,
  after: all.slice(Math.max(0, n - 1), n),
  failFast: true,
}))

function triggerOf(key: string, at: number, deadlineMs: number): Operation & { kind: 'trigger' } {
  const base = { id: at, at, endedAt: at + 5, result: 'ok' as const, kind: 'trigger' as const }
  return { ...base, key, pipeline: 'demo/a', runtime: 'fake', steps: STEPS, deadlineMs }
}

function makeBuild(n: number, random: Random): Made {
  const id = n.toString(16).padStart(24, '0')
  const lane = n % 4
  const createdAt = 2_000 + Math.floor(n / 4) * 20_000 + lane * 10
  const loses = n % 4 === 1
  const fails = n % 4 === 2
  const cancelled = n === 3
  const first = makeEngine({
    id,
    attempt: 1,
    at: createdAt + 100,
    lane,
    random,
    upTo: loses ? 2 : cancelled ? 1 : fails ? 2 : 3,
    loses,
    fails,
    cancelled,
  })
  const second = loses
    ? [
        makeEngine({
          id,
          attempt: 2,
          at: createdAt + 9_000,
          lane,
          random,
          from: 1,
          upTo: 3,
          loses: false,
          fails: false,
          cancelled: false,
        }),
      ]
    : []
  const engines = [first, ...second]
  const status = cancelled ? ('terminated' as const) : fails ? ('error' as const) : ('success' as const)
  const finishedAt = (engines.at(-1)?.endedAt ?? 0) + 20
  const build: BuildRecord = {
    id,
    key: `t-${n}`,
    branch: 'main',
    trigger: 'push',
    pipeline: lane % 2 === 0 ? 'demo/a' : 'demo/b',
    runtime: 'fake',
    status,
    ...(status === 'success' ? {} : { reason: cancelled ? 'cancelled' : 'step-failed' }),
    createdAt,
    finishedAt,
    attempts: engines.map(({ attempt, end }) => ({
      number: attempt,
      status: 'ended' as const,
      result: end === 'killed' ? 'lost' : status,
      ...(end === 'killed' && { reason: 'engine-lost' as const }),
    })),
    feed: n === 4 ? withDecision(makeFeed(engines, createdAt, finishedAt), createdAt) : makeFeed(engines, createdAt, finishedAt),
    logs: storedLogs(engines),
  }
  const trigger = { ...triggerOf(build.key, createdAt - 5, 90_000), pipeline: build.pipeline, buildId: id }
  const cancel: Operation[] = cancelled
    ? [{ kind: 'terminate', id: 900 + n, at: finishedAt - 520, endedAt: finishedAt - 515, result: 'ok', buildId: id }]
    : []
  const seen: Sighting[] = [
    { at: createdAt + 10, buildId: id, status: 'pending' },
    { at: createdAt + 50, buildId: id, status: 'pending', reason: 'runtime-capacity' },
    { at: createdAt + 200, buildId: id, status: 'running' },
    { at: finishedAt + 10, buildId: id, status },
    { at: finishedAt + 900, buildId: id, status },
  ]
  const decided: Operation[] =
    n === 4
      ? [
          {
            kind: 'decide',
            id: 800,
            at: createdAt,
            endedAt: createdAt + 5,
            result: 'ok',
            buildId: id,
            step: 'gate',
            decision: 'approved',
          },
        ]
      : []
  return { operations: [trigger, ...cancel, ...decided], engines, build, sightings: seen }
}

interface EngineShape {
  readonly id: string
  readonly attempt: number
  readonly at: number
  readonly lane: number
  readonly random: Random
  readonly from?: number
  readonly upTo: number
  readonly loses: boolean
  readonly fails: boolean
  readonly cancelled: boolean
}

function makeEngine(shape: EngineShape): EngineTrace {
  const { id, attempt, at, random, loses, fails, cancelled } = shape
  const steps: StepTrace[] = []
  const streams: Record<string, { generated: string; ackedBytes: number }> = {}
  let now = at + 20
  const names = STEPS.slice(shape.from ?? 0, shape.upTo)
  for (const [n, { name }] of names.entries()) {
    const isLast = n === names.length - 1
    const bytes = Buffer.from(`${name} of ${id}/${attempt}: ${'x'.repeat(random.between(20, 400))}\n`)
    const open = isLast && loses
    streams[`step/${name}`] = { generated: bytes.toString('base64'), ackedBytes: open ? 10 : bytes.length }
    const status = isLast && fails ? ('error' as const) : isLast && cancelled ? ('terminated' as const) : ('success' as const)
    const verdict = status === 'error' ? ('error' as const) : ('success' as const)
    steps.push({ name, verdict, startedAt: now, ...(!open && { finishedAt: now + 1_000, status }) })
    now += 1_010
  }
  return {
    instance: `engine-${id}-${attempt}`,
    buildId: id,
    attempt,
    startedAt: at,
    claimedAt: at + 10,
    endedAt: now,
    end: loses ? 'killed' : 'finished',
    volumeKept: attempt > 1,
    disk: `disk-${shape.lane % DISKS}`,
    ...(!loses && { outcome: cancelled ? ('terminated' as const) : fails ? ('error' as const) : ('success' as const) }),
    steps,
    told: toldOf(steps),
    ackedSeq: toldOf(steps).length,
    streams,
    polls: [{ begunAt: at + 15, answeredAt: now - 5 }, ...(cancelled ? [{ begunAt: now - 4, answeredAt: now - 2 }] : [])],
  }
}

function toldOf(steps: readonly StepTrace[]): ToldEvent[] {
  const events = steps.flatMap(({ name: step, status }) => [
    { type: 'step.started', step },
    ...(status === undefined ? [] : [{ type: 'step.finished', step, status }]),
  ])
  return events.map((event, n) => ({ ...event, seq: n + 1 }))
}

/** For a killed engine the server has the acknowledged bytes and slightly more: the rest of a frame whose response was lost. */
function storedLogs(engines: readonly EngineTrace[]): Record<string, string> {
  const logs: Record<string, string> = {}
  for (const engine of engines) {
    for (const [stream, { generated, ackedBytes }] of Object.entries(engine.streams)) {
      const bytes = Buffer.from(generated, 'base64')
      const kept = engine.end === 'finished' ? bytes : bytes.subarray(0, Math.min(bytes.length, ackedBytes + 5))
      logs[`${engine.attempt}/${stream}`] = kept.toString('base64')
    }
  }
  return logs
}

function makeFeed(engines: readonly EngineTrace[], createdAt: number, finishedAt: number): FeedItem[] {
  const feed: FeedItem[] = []
  const event = (attempt: number, at: number, type: string, extra: Record<string, unknown> = {}): void => {
    const source = type.startsWith('build.') ? ('server' as const) : ('engine' as const)
    feed.push({ kind: 'event', position: feed.length + 1, attempt, source, at, type, data: extra })
  }
  event(0, createdAt, 'build.created')
  for (const engine of engines) {
    const logs = storedLogs([engine])
    for (const step of engine.steps) {
      event(engine.attempt, step.startedAt, 'step.started', { step: step.name })
      const bytes = Buffer.from(logs[`${engine.attempt}/step/${step.name}`] ?? '', 'base64')
      for (const [offset, part] of halves(bytes)) {
        const position = feed.length + 1
        feed.push({
          kind: 'log',
          position,
          attempt: engine.attempt,
          at: step.startedAt,
          stream: `step/${step.name}`,
          offset,
          bytes: part.toString('base64'),
        })
      }
      if (step.status !== undefined)
        event(engine.attempt, step.finishedAt ?? 0, 'step.finished', { step: step.name, status: step.status })
    }
  }
  event(0, finishedAt, 'build.finished')
  return feed
}

/** A user approved a step before the first one ran. */
function withDecision(feed: readonly FeedItem[], at: number): FeedItem[] {
  const data = { step: 'gate', decision: 'approved', by: { name: 'ann', type: 'user' } }
  const decided: FeedItem = { kind: 'event', position: 2, attempt: 0, source: 'server', at, type: 'step.decided', data }
  return [...feed.slice(0, 1), decided, ...feed.slice(1)].map((item, n) => ({ ...item, position: n + 1 }))
}

function halves(bytes: Buffer): [number, Buffer][] {
  const half = Math.ceil(bytes.length / 2)
  return [
    [0, bytes.subarray(0, half)],
    [half, bytes.subarray(half)],
  ]
}
