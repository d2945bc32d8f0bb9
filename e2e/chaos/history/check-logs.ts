/** Invariants 7 and 14: the bytes of the logs, and the position of the ends of steps among them. */
import { sha256 } from '@windlass/kit'
import { z } from 'zod'
import type { BuildRecord, EngineTrace, History, StreamTrace, Violation } from './history.ts'

/** 7: the stored bytes are the generated ones: complete for an attempt that ended by itself, a prefix with all acknowledged bytes for a lost one. */
export function* checkLogs(history: History): Generator<Violation> {
  for (const build of history.builds) {
    const traces = history.engines.filter(({ buildId, claimedAt }) => buildId === build.id && claimedAt !== undefined)
    for (const message of [...wrongStreams(build, traces), ...wrongFeed(build)])
      yield { invariant: 7, buildId: build.id, message }
  }
}

function* wrongStreams(build: BuildRecord, traces: readonly EngineTrace[]): Generator<string> {
  const expected = new Map<string, { trace: EngineTrace; stream: StreamTrace }>()
  for (const trace of traces) {
    for (const [name, stream] of Object.entries(trace.streams)) expected.set(`${trace.attempt}/${name}`, { trace, stream })
  }
  for (const [key, log] of Object.entries(build.logs)) {
    const made = expected.get(key)
    if (made === undefined) {
      if (log !== '') yield `stream ${key} holds bytes that no engine made`
    } else yield* wrongBytes(key, Buffer.from(log, 'base64'), { ...made, whole: isWhole(build, made.trace) })
  }
  for (const [key, { stream, trace }] of expected) {
    const lost = isWhole(build, trace) ? stream.generated !== '' : stream.ackedBytes > 0
    if (!Object.hasOwn(build.logs, key) && lost) yield `stream ${key} is not stored`
  }
}

/** The server accepted the end of this attempt, so it must have all its bytes. */
function isWhole(build: BuildRecord, trace: EngineTrace): boolean {
  return trace.end === 'finished' || (build.status === 'success' && trace.outcome === 'success')
}

function* wrongBytes(key: string, stored: Buffer, made: { stream: StreamTrace; whole: boolean }): Generator<string> {
  const generated = Buffer.from(made.stream.generated, 'base64')
  if (stored.length > generated.length) yield `stream ${key} holds ${stored.length} bytes, ${generated.length} were made`
  else if (made.whole && stored.length < generated.length)
    yield `stream ${key} holds ${stored.length} bytes of ${generated.length}`
  else if (stored.length < made.stream.ackedBytes) {
    yield `stream ${key} holds ${stored.length} bytes, ${made.stream.ackedBytes} were acknowledged`
  } else if (sha256(stored) !== sha256(generated.subarray(0, stored.length)))
    yield `stream ${key} holds other bytes than were made`
}

/** Followers read the feed: its positions are dense, and its frames add up to the stored streams. */
function* wrongFeed(build: BuildRecord): Generator<string> {
  let last = 0
  const ends = new Map<string, Buffer[]>()
  const lengths = new Map<string, number>()
  for (const item of build.feed) {
    if (item.position !== last + 1) yield `feed position ${item.position} follows ${last}`
    last = item.position
    if (item.kind !== 'log') continue
    const key = `${item.attempt}/${item.stream}`
    const end = lengths.get(key) ?? 0
    if (item.offset !== end) yield `the feed has stream ${key} at ${item.offset} after ${end}`
    const bytes = Buffer.from(item.bytes, 'base64')
    lengths.set(key, end + bytes.length)
    ends.set(key, [...(ends.get(key) ?? []), bytes])
  }
  for (const key of new Set([...ends.keys(), ...Object.keys(build.logs)])) {
    const fed = Buffer.concat(ends.get(key) ?? [])
    const stored = Buffer.from(build.logs[key] ?? '', 'base64')
    if (!fed.equals(stored)) yield `stream ${key}: the feed holds ${fed.length} bytes, the log ${stored.length}, or other ones`
  }
}

/** 14: in the feed, and so for every follower, the end of a step comes after the last byte of its streams. */
export function* checkStepEnds(builds: readonly Pick<BuildRecord, 'id' | 'feed'>[]): Generator<Violation> {
  for (const { id, feed } of builds) {
    const ended = new Map<string, number>()
    for (const item of feed) {
      if (item.kind === 'log') {
        const end = ended.get(`${item.attempt}/${item.stream}`)
        if (end !== undefined)
          yield { invariant: 14, buildId: id, message: `bytes of ${item.stream} at ${item.position} follow its end at ${end}` }
        continue
      }
      const { step, streams } = StepFact.parse(item.data)
      for (const stream of [`step/${step}`, ...Object.keys(streams)]) {
        if (item.type === 'step.finished') ended.set(`${item.attempt}/${stream}`, item.position)
        if (item.type === 'step.started') ended.delete(`${item.attempt}/${stream}`)
      }
    }
  }
}

const StepFact = z.object({ step: z.string().default(''), streams: z.record(z.string(), z.unknown()).default({}) })
