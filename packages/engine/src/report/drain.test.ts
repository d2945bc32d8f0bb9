import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openJournal, type Journal } from '@windlass/journal'
import { fault, silentLog, systemClock } from '@windlass/kit'
import { EngineEvent } from '@windlass/protocol'
import { startDrain, type Drain } from './drain.ts'
import type { LogFrame, Sink } from './sink.ts'

const folders: string[] = []
const ends: AbortController[] = []

afterEach(() => {
  for (const end of ends.splice(0)) end.abort()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** The other side: keeps what joins on, and misbehaves as `trouble` says. */
function memory(trouble: (call: string) => void = () => undefined) {
  const events: EngineEvent[] = []
  const streams = new Map<string, Buffer>()
  const frames: LogFrame[] = []
  const sink: Sink = {
    async events(batch) {
      trouble(`events ${batch.map(({ type }) => type).join(',')}`)
      for (const event of batch) {
        if (event.seq !== events.length + 1) continue
        const gaps =
          event.type === 'attempt.finished'
            ? Object.entries(event.streams).filter(([name, { bytes }]) => (streams.get(name)?.length ?? 0) < bytes)
            : []
        if (gaps.length > 0)
          throw fault('log-incomplete', {
            offsets: Object.fromEntries(gaps.map(([name]) => [name, streams.get(name)?.length ?? 0])),
          })
        events.push(event)
      }
      return events.length
    },
    async frame(frame) {
      const kept = streams.get(frame.stream) ?? Buffer.alloc(0)
      if (frame.offset > kept.length) throw fault('log-offset', { offset: kept.length })
      frames.push(frame)
      streams.set(frame.stream, Buffer.concat([kept, frame.bytes.subarray(kept.length - frame.offset)]))
      trouble(`frame ${frame.stream} ${frame.offset}`)
      return streams.get(frame.stream)?.length ?? 0
    },
  }
  return { sink, events, streams, frames }
}

async function begin(sink: Sink): Promise<{ journal: Journal<EngineEvent>; drain: Drain }> {
  const dir = mkdtempSync(join(tmpdir(), 'drain-'))
  folders.push(dir)
  const end = new AbortController()
  ends.push(end)
  const journal = await openJournal<EngineEvent>({
    dir,
    clock: systemClock,
    limitBytes: 1e9,
    decode: (value) => EngineEvent.parse(value),
  })
  return { journal, drain: startDrain({ journal, sink, clock: systemClock, log: silentLog, signal: end.signal }) }
}

async function finish(journal: Journal<EngineEvent>): Promise<void> {
  const streams = Object.fromEntries(
    Object.entries(await journal.totals()).map(([name, { bytes, sha256 }]) => [name, { bytes, sha256: sha256 ?? '' }]),
  )
  journal.append({ type: 'attempt.finished', outcome: { status: 'success' }, streams })
}

test('everything arrives in order, the end of the attempt last', async () => {
  const calls: string[] = []
  const other = memory((call) => calls.push(call))
  const { journal, drain } = await begin(other.sink)
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  await journal.stream('step/a').write(Buffer.alloc(2_000_000, 'x'))
  await finish(journal)
  await drain.finish()
  expect(other.events.map(({ type }) => type)).toEqual(['step.started', 'attempt.finished'])
  expect(other.streams.get('step/a')?.length).toBe(2_000_000)
  expect(calls.at(-1)).toBe('events attempt.finished')
  expect(journal.isDrained()).toBe(true)
})

test('a server that is away for a while, and answers that get lost, lose and double nothing', async () => {
  let calls = 0
  const other = memory(() => {
    calls += 1
    if (calls % 2 === 1) throw fault('server-unreachable')
  })
  const { journal, drain } = await begin(other.sink)
  for (let n = 0; n < 2; n += 1) {
    journal.append({ type: 'step.started', step: `s${n}`, try: 1 })
    await journal.stream(`step/s${n}`).write(Buffer.from(`output ${n}\n`.repeat(100)))
  }
  await finish(journal)
  await drain.finish()
  expect(other.events.map(({ seq }) => seq)).toEqual([1, 2, 3])
  for (let n = 0; n < 2; n += 1) expect(other.streams.get(`step/s${n}`)?.toString()).toBe(`output ${n}\n`.repeat(100))
})

test('a server that has less than it said gets the missing bytes again', async () => {
  let isForgetful = true
  const other = memory((call) => {
    if (call !== 'events attempt.finished' || !isForgetful) return
    isForgetful = false
    other.streams.set('step/a', (other.streams.get('step/a') ?? Buffer.alloc(0)).subarray(0, 5))
  })
  const { journal, drain } = await begin(other.sink)
  await journal.stream('step/a').write(Buffer.from('0123456789'))
  await finish(journal)
  await drain.finish()
  expect(other.streams.get('step/a')?.toString()).toBe('0123456789')
})

test('a stale attempt ends the drain at once', async () => {
  const { sink } = memory(() => {
    throw fault('attempt-stale')
  })
  const { journal, drain } = await begin(sink)
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  await expect(drain.failed).rejects.toMatchObject({ code: 'attempt-stale' })
  await expect(drain.finish()).rejects.toMatchObject({ code: 'attempt-stale' })
})

test('the first bytes of a quiet step are sent at once, later ones every 100 ms, a loud one in large frames', async () => {
  const other = memory()
  const { journal } = await begin(other.sink)
  const started = performance.now()
  const quiet = journal.stream('step/quiet')
  await quiet.write(Buffer.from('first\n'))
  while (other.frames.length === 0) await systemClock.sleep(2)
  expect(performance.now() - started).toBeLessThan(80)
  for (let n = 0; n < 50; n += 1) {
    await quiet.write(Buffer.from('.'))
    await systemClock.sleep(5)
  }
  expect(other.frames.length).toBeLessThan(8)
  const before = other.frames.length
  await journal.stream('step/loud').write(Buffer.alloc(4_000_000, 'y'))
  while (other.streams.get('step/loud')?.length !== 4_000_000) await systemClock.sleep(2)
  expect(other.frames.length - before).toBeLessThan(14)
})
