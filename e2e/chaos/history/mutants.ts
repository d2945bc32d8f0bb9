/**
 * Ways in which a broken system would show in a history. Each changes a clean one so that one promise is broken; the checker must say
 * which. This is what makes a chaos run without violations worth something.
 */
import type { FeedItem } from '@windlass/protocol'
import type { BuildRecord, EngineTrace, History, TriggerOperation } from './history.ts'
import { isTrigger } from './history.ts'

export interface Mutant {
  /** What the system would have done wrong. */
  readonly name: string
  /** The invariant that must catch it. */
  readonly invariant: number
  mutate(history: History): History
}

type Loose<T> = { -readonly [K in keyof T]: T[K] }

const build = (history: History, change: (build: Loose<BuildRecord>) => void, which = isWholeSuccess): History => {
  const target = history.builds.find(which)
  if (target === undefined) throw new Error('the history has no build for this mutant')
  const copy = structuredClone(target)
  change(copy)
  return { ...history, builds: history.builds.map((other) => (other === target ? copy : other)) }
}

const engine = (
  history: History,
  change: (trace: Loose<EngineTrace>) => void,
  which: (trace: EngineTrace) => boolean,
): History => {
  const target = history.engines.find(which)
  if (target === undefined) throw new Error('the history has no engine for this mutant')
  const copy = structuredClone(target)
  change(copy)
  return { ...history, engines: history.engines.map((other) => (other === target ? copy : other)) }
}

const trigger = (history: History, change: (trigger: Loose<TriggerOperation>) => void): History => {
  const target = history.operations.find((operation) => isTrigger(operation) && operation.result === 'ok')
  if (target === undefined || !isTrigger(target)) throw new Error('the history has no trigger')
  const copy = structuredClone(target)
  change(copy)
  return { ...history, operations: history.operations.map((other) => (other === target ? copy : other)) }
}

function isWholeSuccess(record: BuildRecord): boolean {
  return record.status === 'success' && record.attempts.length === 1
}

const isRetried = (record: BuildRecord): boolean => record.attempts.length > 1
const isSecond = (trace: EngineTrace): boolean => trace.attempt === 2
const isWhole = (trace: EngineTrace): boolean => trace.outcome === 'success' && trace.attempt === 1
const firstStream = '1/step/clone'

/** Renumbers positions, so that a mutant breaks the bytes and not the numbering. */
function renumber(feed: readonly FeedItem[]): FeedItem[] {
  return feed.map((item, n) => ({ ...item, position: n + 1 }))
}

function changeBytes(record: Loose<BuildRecord>, key: string, change: (bytes: Buffer) => Buffer): void {
  const bytes = change(Buffer.from(record.logs[key] ?? '', 'base64'))
  record.logs = { ...record.logs, [key]: bytes.toString('base64') }
  const [attempt, ...stream] = key.split('/')
  const name = stream.join('/')
  const at = record.feed.findIndex((item) => item.kind === 'log' && item.attempt === Number(attempt) && item.stream === name)
  const others = record.feed.filter((item) => item.kind !== 'log' || item.attempt !== Number(attempt) || item.stream !== name)
  const frame: FeedItem = {
    kind: 'log',
    position: 1,
    attempt: Number(attempt),
    at: 0,
    stream: name,
    offset: 0,
    bytes: bytes.toString('base64'),
  }
  record.feed = renumber([...others.slice(0, at), frame, ...others.slice(at)])
}

const triggers: readonly Mutant[] = [
  { name: 'an accepted trigger is forgotten', invariant: 1, mutate: (h) => ({ ...h, builds: h.builds.slice(1) }) },
  {
    name: 'a repeated trigger makes a second build',
    invariant: 1,
    mutate: (h) => ({
      ...h,
      builds: [...h.builds, ...h.builds.slice(0, 1).map((record) => ({ ...record, id: 'f'.repeat(24) }))],
    }),
  },
  { name: 'a refused trigger is built', invariant: 1, mutate: (h) => build(h, (record) => (record.branch = 'refused')) },
  { name: 'a build appears that nobody asked for', invariant: 1, mutate: (h) => build(h, (record) => (record.branch = 'ghost')) },
  { name: 'an unanswered trigger stays unsettled', invariant: 1, mutate: (h) => trigger(h, (op) => (op.result = 'unknown')) },
  {
    name: 'a repeated trigger is told another id',
    invariant: 1,
    mutate: (h) => trigger(h, (op) => (op.buildId = 'e'.repeat(24))),
  },
]

const isDecision = (item: FeedItem): boolean => item.kind === 'event' && item.type === 'step.decided'
const isDecided = (record: BuildRecord): boolean => record.feed.some(isDecision)

const approvals: readonly Mutant[] = [
  {
    name: 'a decision that was answered is lost',
    invariant: 13,
    mutate: (h) => build(h, (record) => (record.feed = renumber(record.feed.filter((item) => !isDecision(item)))), isDecided),
  },
  {
    name: 'a decision is recorded twice',
    invariant: 13,
    mutate: (h) =>
      build(
        h,
        (record) => (record.feed = renumber(record.feed.flatMap((item) => (isDecision(item) ? [item, item] : [item])))),
        isDecided,
      ),
  },
  {
    name: 'a build that was denied goes on',
    invariant: 13,
    mutate: (h) =>
      build(
        h,
        (record) =>
          (record.feed = record.feed.map((item) =>
            item.kind === 'event' && isDecision(item) ? { ...item, data: { ...item.data, decision: 'denied' } } : item,
          )),
        isDecided,
      ),
  },
]

const endings: readonly Mutant[] = [
  { name: 'a build hangs', invariant: 2, mutate: (h) => build(h, (record) => (record.status = 'running')) },
  {
    name: 'a build ends long after its deadline',
    invariant: 2,
    mutate: (h) => build(h, (record) => (record.finishedAt = 190_000)),
  },
  {
    name: 'a final state changes',
    invariant: 3,
    mutate: (h) => ({
      ...h,
      sightings: h.sightings.map((seen, n) => (n === h.sightings.length - 1 ? { ...seen, status: 'terminated' } : seen)),
    }),
  },
  {
    name: 'a final build comes back to life',
    invariant: 3,
    mutate: (h) => ({
      ...h,
      sightings: [...h.sightings, ...h.sightings.slice(-1).map((seen) => ({ ...seen, status: 'running' as const }))],
    }),
  },
  {
    name: 'a failed attempt is recorded as success',
    invariant: 3,
    mutate: (h) => engine(h, (trace) => (trace.outcome = 'error'), isWhole),
  },
  {
    name: 'an acknowledged success is recorded as error',
    invariant: 3,
    mutate: (h) => build(h, (record) => (record.status = 'error')),
  },
  {
    name: 'the end is told twice',
    invariant: 3,
    mutate: (h) => build(h, (r) => (r.feed = renumber([...r.feed, ...r.feed.slice(-1)]))),
  },
  {
    name: 'cancel is ignored and the build succeeds',
    invariant: 3,
    mutate: (h) => {
      const id = h.builds.find(isWholeSuccess)?.id ?? ''
      return {
        ...h,
        operations: [...h.operations, { kind: 'terminate', id: 7, at: 1_000, endedAt: 1_000, result: 'ok', buildId: id }],
      }
    },
  },
]

const engines: readonly Mutant[] = [
  {
    name: 'fencing is ignored: the old attempt goes on beside the new one',
    invariant: 4,
    mutate: (h) =>
      engine(
        h,
        (trace) => (trace.endedAt = 100_000),
        (trace) => trace.end === 'killed',
      ),
  },
  {
    name: 'one credential starts two engines',
    invariant: 4,
    mutate: (h) => ({ ...h, engines: [...h.engines, ...h.engines.slice(0, 1).map((trace) => ({ ...trace, instance: 'twin' }))] }),
  },
  {
    name: 'a disk is given to two builds',
    invariant: 4,
    mutate: (h) =>
      engine(
        h,
        (trace) => (trace.disk = 'disk-3'),
        ({ disk }) => disk === 'disk-0',
      ),
  },
  {
    name: 'a step starts before its predecessor is done',
    invariant: 5,
    mutate: (h) =>
      engine(h, (t) => (t.steps = t.steps.map((s, n) => (n === 1 ? { ...s, startedAt: s.startedAt - 500 } : s))), isWhole),
  },
  {
    name: 'a finished step is run again though its volume was kept',
    invariant: 5,
    mutate: (h) => engine(h, (t) => (t.steps = [{ name: 'clone', startedAt: t.startedAt + 11 }, ...t.steps]), isSecond),
  },
  {
    name: 'a step runs after another one failed',
    invariant: 5,
    mutate: (h) =>
      engine(
        h,
        (t) => (t.steps = [...t.steps, { name: 'image', startedAt: (t.endedAt ?? 0) + 1 }]),
        (t) => t.outcome === 'error',
      ),
  },
  {
    name: 'cancel does not reach the engine, which starts the next step',
    invariant: 5,
    mutate: (h) =>
      engine(
        h,
        (t) => (t.steps = [...t.steps, { name: 'test', startedAt: (t.endedAt ?? 0) + 3_000 }]),
        (t) => t.outcome === 'terminated',
      ),
  },
  {
    name: 'the limit of a pipeline is not kept',
    invariant: 6,
    mutate: (h) => ({ ...h, limits: { ...h.limits, pipelines: { ...h.limits.pipelines, 'demo/a': 1 } } }),
  },
  {
    name: 'the capacity of a runtime is not kept',
    invariant: 6,
    mutate: (h) => ({ ...h, limits: { ...h.limits, runtimes: { fake: 3 } } }),
  },
]

const logs: readonly Mutant[] = [
  {
    name: 'the last chunk is dropped',
    invariant: 7,
    mutate: (h) => build(h, (r) => changeBytes(r, firstStream, (b) => b.subarray(0, -10))),
  },
  {
    name: 'a repeated frame is stored twice',
    invariant: 7,
    mutate: (h) => build(h, (r) => changeBytes(r, firstStream, (b) => Buffer.concat([b, b.subarray(-10)]))),
  },
  {
    name: 'a gap in the middle is closed over',
    invariant: 7,
    mutate: (h) => build(h, (r) => changeBytes(r, firstStream, (b) => Buffer.concat([b.subarray(0, 20), b.subarray(30)]))),
  },
  {
    name: 'a byte is damaged',
    invariant: 7,
    mutate: (h) => build(h, (r) => changeBytes(r, firstStream, (b) => Buffer.concat([Buffer.from('#'), b.subarray(1)]))),
  },
  {
    name: 'acknowledged bytes of a lost attempt are gone',
    invariant: 7,
    mutate: (h) => build(h, (r) => changeBytes(r, '1/step/test', (b) => b.subarray(0, 4)), isRetried),
  },
  {
    name: 'a fenced writer still writes',
    invariant: 7,
    mutate: (h) => build(h, (r) => changeBytes(r, '1/step/test', (b) => Buffer.concat([b, Buffer.alloc(600, 'z')])), isRetried),
  },
  {
    name: 'a stream is stored under another attempt',
    invariant: 7,
    mutate: (h) => build(h, (r) => (r.logs = { ...r.logs, '2/step/clone': r.logs[firstStream] ?? '' })),
  },
  { name: 'a follower misses a position', invariant: 7, mutate: (h) => build(h, (r) => (r.feed = r.feed.toSpliced(2, 1))) },
  {
    name: 'a follower sees a frame twice',
    invariant: 7,
    mutate: (h) => build(h, (r) => (r.feed = renumber(r.feed.toSpliced(2, 0, ...r.feed.slice(2, 3))))),
  },
]

const remains: readonly Mutant[] = [
  {
    name: 'a pod of a final build is left behind',
    invariant: 8,
    mutate: (h) => ({ ...h, leftovers: h.builds.slice(0, 1).map(({ id }) => ({ buildId: id, object: `pod/engine-${id}` })) }),
  },
  {
    name: 'the sweeper stops a live build',
    invariant: 8,
    mutate: (h) =>
      engine(
        h,
        (trace) => {
          trace.end = 'stopped'
          delete trace.outcome
        },
        isWhole,
      ),
  },
  {
    name: 'a secret is in a log',
    invariant: 10,
    mutate: (h) => build(h, (r) => changeBytes(r, firstStream, (b) => Buffer.concat([b, Buffer.from(`token=${h.secrets[0]}`)]))),
  },
  {
    name: 'a secret is in an event, base64',
    invariant: 10,
    mutate: (h) =>
      build(h, (r) => {
        const value = Buffer.from(h.secrets[0] ?? '').toString('base64')
        r.feed = r.feed.map((item) =>
          item.kind === 'event' && item.type === 'step.finished' ? { ...item, data: { ...item.data, value } } : item,
        )
      }),
  },
  {
    name: 'a secret lies plain in the database',
    invariant: 10,
    mutate: (h) => ({ ...h, texts: [...h.texts, { where: 'a dump of the database', text: `{"v":"${h.secrets[0]}"}` }] }),
  },
  {
    name: 'a build waits and does not say why',
    invariant: 12,
    mutate: (h) => {
      const id = h.builds[0]?.id ?? ''
      const silent = Array.from({ length: 12 }, (_, n) => 3_000 + 300 * n).map((at) => ({
        at,
        buildId: id,
        status: 'pending' as const,
      }))
      return { ...h, sightings: [...silent, ...h.sightings.filter(({ buildId }) => buildId !== id)] }
    },
  },
]

export const MUTANTS: readonly Mutant[] = [...triggers, ...approvals, ...endings, ...engines, ...logs, ...remains]
