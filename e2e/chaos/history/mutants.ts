/**
 * The symptoms of a broken system in a history. Each mutant changes a clean history so that one invariant is violated; the checker must name that
 * invariant. They prove that a chaos run without violations is meaningful.
 */
import type { FeedItem } from '@windlass/protocol'
import {
  build,
  changeBytes,
  engine,
  firstStream,
  isRetried,
  isSecond,
  isWhole,
  isWholeSuccess,
  renumber,
  trigger,
  type Mutant,
} from './change.ts'
import type { BuildRecord } from './history.ts'
import { limits, retention } from './mutants-of-limits.ts'
import { progress, secrets } from './mutants-of-progress.ts'

const triggers: readonly Mutant[] = [
  { name: 'an accepted trigger is forgotten', invariant: 1, mutate: (h) => ({ ...h, builds: h.builds.slice(1) }) },
  {
    name: 'a repeated trigger creates a second build',
    invariant: 1,
    mutate: (h) => ({
      ...h,
      builds: [...h.builds, ...h.builds.slice(0, 1).map((record) => ({ ...record, id: 'f'.repeat(24) }))],
    }),
  },
  { name: 'a refused trigger is built', invariant: 1, mutate: (h) => build(h, (record) => (record.key = 'refused')) },
  { name: 'a build exists without a trigger', invariant: 1, mutate: (h) => build(h, (record) => (record.key = 'ghost')) },
  {
    name: 'the outcome of an unanswered trigger stays unknown',
    invariant: 1,
    mutate: (h) => trigger(h, (op) => (op.result = 'unknown')),
  },
  {
    name: 'a repeated trigger returns another id',
    invariant: 1,
    mutate: (h) => trigger(h, (op) => (op.buildId = 'e'.repeat(24))),
  },
]

const isDecision = (item: FeedItem): boolean => item.kind === 'event' && item.type === 'step.decided'
const isDecided = (record: BuildRecord): boolean => record.feed.some(isDecision)

const approvals: readonly Mutant[] = [
  {
    name: 'an answered decision is lost',
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
    name: 'a denied build continues',
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
    name: 'a final build runs again',
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
    name: 'the end is reported twice',
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
    name: 'fencing is ignored: the old attempt continues next to the new one',
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
    name: 'a finished step runs again although its volume was kept',
    invariant: 5,
    mutate: (h) =>
      engine(h, (t) => (t.steps = [{ name: 'clone', verdict: 'success', startedAt: t.startedAt + 11 }, ...t.steps]), isSecond),
  },
  {
    name: 'a step runs after another one failed',
    invariant: 5,
    mutate: (h) =>
      engine(
        h,
        (t) => (t.steps = [...t.steps, { name: 'image', verdict: 'success', startedAt: (t.endedAt ?? 0) + 1 }]),
        (t) => t.outcome === 'error',
      ),
  },
  {
    name: 'an engine that received the cancel continues',
    invariant: 5,
    mutate: (h) =>
      engine(
        h,
        (t) => {
          const [test, image] = [(t.endedAt ?? 0) + 1, (t.endedAt ?? 0) + 1_001]
          t.steps = [
            ...t.steps,
            { name: 'test', verdict: 'success', startedAt: test, finishedAt: image - 1, status: 'success' },
            { name: 'image', verdict: 'success', startedAt: image },
          ]
        },
        (t) => t.outcome === 'terminated',
      ),
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
    name: 'a gap in the middle is hidden',
    invariant: 7,
    mutate: (h) => build(h, (r) => changeBytes(r, firstStream, (b) => Buffer.concat([b.subarray(0, 20), b.subarray(30)]))),
  },
  {
    name: 'a byte is corrupted',
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

const order: readonly Mutant[] = [
  {
    name: 'a follower sees the end of a step before its last line',
    invariant: 14,
    mutate: (h) =>
      build(h, (r) => {
        const end = r.feed.findIndex((item) => item.kind === 'event' && item.type === 'step.finished')
        r.feed = renumber([
          ...r.feed.slice(0, end - 1),
          ...r.feed.slice(end, end + 1),
          ...r.feed.slice(end - 1, end),
          ...r.feed.slice(end + 1),
        ])
      }),
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
    name: 'a build waits without a reason',
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

export const MUTANTS: readonly Mutant[] = [
  ...triggers,
  ...approvals,
  ...endings,
  ...engines,
  ...limits,
  ...retention,
  ...logs,
  ...order,
  ...remains,
  ...secrets,
  ...progress,
]
