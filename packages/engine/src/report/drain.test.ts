import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { openJournal, type Journal } from '@windlass/journal'
import { fault, manualClock, sha256, silentLog, systemClock, type Clock } from '@windlass/kit'
import { EngineEvent, stepStream } from '@windlass/protocol'
import { startDrain, type Drain } from './drain.ts'
import type { LogFrame, Sink } from './sink.ts'
import { recordPauses } from '../../../../e2e/support/clocks.ts'

const folders: string[] = []
const ends: AbortController[] = []
const journals: Journal<EngineEvent>[] = []

afterEach(async () => {
  for (const end of ends.splice(0)) end.abort()
  for (const journal of journals.splice(0)) await journal.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A sink that stores what is contiguous and fails as `trouble` decides. */
function memory(trouble: (call: string) => void = () => undefined) {
  const events: EngineEvent[] = []
  const streams = new Map<string, Buffer>()
  const frames: LogFrame[] = []
  const sink: Sink = {
    async events(batch) {
      trouble(`events ${batch.map(({ type }) => type).join(',')}`)
      for (const event of batch) {
        if (event.seq !== events.length + 1) continue
        const gaps = announced(event).filter(([name, bytes]) => (streams.get(name)?.length ?? 0) < bytes)
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
    isFinal: (error) => error.code === 'attempt-stale',
  }
  return { sink, events, streams, frames }
}

function announced(event: EngineEvent): [stream: string, bytes: number][] {
  if (event.type === 'step.finished') return Object.entries(event.streams ?? {})
  return event.type === 'attempt.finished' ? Object.entries(event.streams).map(([name, { bytes }]) => [name, bytes]) : []
}

function newFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'drain-'))
  folders.push(dir)
  return dir
}

async function begin(
  sink: Sink,
  clock: Clock = systemClock,
  dir = newFolder(),
): Promise<{ journal: Journal<EngineEvent>; drain: Drain }> {
  const end = new AbortController()
  ends.push(end)
  const journal = await openJournal<EngineEvent>({
    dir,
    clock,
    limitBytes: 1e9,
    decode: (value) => EngineEvent.parse(value),
  })
  journals.push(journal)
  return { journal, drain: startDrain({ journal, sink, clock, log: silentLog, signal: end.signal }) }
}

async function finish(journal: Journal<EngineEvent>): Promise<void> {
  const streams = Object.fromEntries(
    Object.entries(await journal.totals()).map(([name, { bytes, sha256 }]) => [name, { bytes, sha256: sha256 ?? '' }]),
  )
  journal.append({ type: 'attempt.finished', outcome: { status: 'success' }, streams })
}

test('sends everything in order with the end of the attempt last', async () => {
  const calls: string[] = []
  const target = memory((call) => calls.push(call))
  const { journal, drain } = await begin(target.sink)
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  await journal.stream('step/a').write(Buffer.alloc(2_000_000, 'x'))
  await finish(journal)
  await drain.finish()
  expect(target.events.map(({ type }) => type)).toEqual(['step.started', 'attempt.finished'])
  expect(target.streams.get('step/a')?.length).toBe(2_000_000)
  expect(calls.at(-1)).toBe('events attempt.finished')
  expect(journal.isDrained()).toBe(true)
})

test('neither loses nor duplicates data if the server is unreachable or responses are lost', async () => {
  let calls = 0
  const target = memory(() => {
    calls += 1
    if (calls % 2 === 1) throw fault('server-unreachable')
  })
  const { journal, drain } = await begin(target.sink)
  for (let n = 0; n < 2; n += 1) {
    journal.append({ type: 'step.started', step: `s${n}`, try: 1 })
    await journal.stream(`step/s${n}`).write(Buffer.from(`output ${n}\n`.repeat(100)))
  }
  await finish(journal)
  await drain.finish()
  expect(target.events.map(({ seq }) => seq)).toEqual([1, 2, 3])
  for (let n = 0; n < 2; n += 1) expect(target.streams.get(`step/s${n}`)?.toString()).toBe(`output ${n}\n`.repeat(100))
})

test('sends bytes again that the server acknowledged and lost', async () => {
  let isForgetful = true
  const target = memory((call) => {
    if (call !== 'events attempt.finished' || !isForgetful) return
    isForgetful = false
    target.streams.set('step/a', (target.streams.get('step/a') ?? Buffer.alloc(0)).subarray(0, 5))
  })
  const { journal, drain } = await begin(target.sink)
  await journal.stream('step/a').write(Buffer.from('0123456789'))
  await finish(journal)
  await drain.finish()
  expect(target.streams.get('step/a')?.toString()).toBe('0123456789')
})

/** Starts a step, writes output, and ends it. */
async function runStep(journal: Journal<EngineEvent>, step: string, text: string): Promise<void> {
  journal.append({ type: 'step.started', step, try: 1 })
  await journal.stream(stepStream(step)).write(Buffer.from(text))
  const streams = { [stepStream(step)]: journal.extent(stepStream(step)).bytes }
  journal.append({ type: 'step.finished', step, try: 1, status: 'success', members: {}, exports: [], streams })
}

test('keeps the backoff of refused events while frames are accepted', async () => {
  const clock = manualClock()
  const askedAt: number[] = []
  const target = memory((call) => {
    if (!call.startsWith('events')) return
    askedAt.push(clock.monotonic())
    throw fault('server-unreachable')
  })
  const { journal } = await begin(target.sink, clock)
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  for (let round = 1; round <= 20; round += 1) {
    await journal.stream('system').write(Buffer.from('.'))
    while (target.frames.length < round) {
      clock.advance(10)
      await systemClock.sleep(1)
    }
  }
  // Frames are sent every 100 ms. The backoff grows from 200 ms, of which jitter removes up to half.
  expect(askedAt.length).toBeGreaterThan(3)
  for (const [n, at] of askedAt.entries())
    expect(at - (askedAt[n - 1] ?? -Infinity)).toBeGreaterThanOrEqual(Math.min(5_000, 50 * 2 ** n))
})

test('ends the backoff of events once frames are accepted again', async () => {
  let isAway = true
  const target = memory(() => {
    if (isAway) throw fault('server-unreachable')
  })
  const clock = recordPauses(manualClock())
  const { journal } = await begin(target.sink, clock)
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  await journal.stream('system').write(Buffer.from('.'))
  while (clock.pauses.length < 2) await systemClock.sleep(1)
  isAway = false
  // The shorter of the two pauses ends here.
  clock.advance(Math.min(...clock.pauses))
  await expect.poll(() => journal.isDrained()).toBe(true)
})

/** Records the order in which a sink accepts data: `a begins`, `a 0-10`, `a ends`. */
function takenBy({ sink }: Pick<ReturnType<typeof memory>, 'sink'>): { readonly sink: Sink; readonly taken: string[] } {
  const taken: string[] = []
  let lastSeq = 0
  return {
    taken,
    sink: {
      async events(batch, signal) {
        const seq = await sink.events(batch, signal)
        for (const event of batch) {
          if (event.seq <= lastSeq || event.seq > seq) continue
          if (event.type === 'step.started') taken.push(`${event.step} begins`)
          if (event.type === 'step.finished') taken.push(`${event.step} ends`)
          lastSeq = event.seq
        }
        return seq
      },
      async frame(frame, signal) {
        const end = await sink.frame(frame, signal)
        taken.push(`${frame.stream.slice('step/'.length)} ${frame.offset}-${end}`)
        return end
      },
      isFinal: sink.isFinal,
    },
  }
}

test('sends the end of a step after its bytes if only frames are refused', async () => {
  let refused = 0
  const target = memory((call) => {
    if (call.startsWith('frame') && refused < 3) {
      refused += 1
      throw fault('server-unreachable')
    }
  })
  const { sink, taken } = takenBy(target)
  const { journal, drain } = await begin(sink)
  for (const step of ['a', 'b']) await runStep(journal, step, `said by ${step}\n`)
  await runStep(journal, 'silent', '')
  await finish(journal)
  await drain.finish()
  expect(taken.filter((what) => what.startsWith('a'))).toEqual(['a begins', 'a 0-10', 'a ends'])
  expect(taken.filter((what) => what.startsWith('b'))).toEqual(['b begins', 'b 0-10', 'b ends'])
  expect(taken.at(-1)).toBe('silent ends')
})

test('sends bytes of a step after its start if only events are refused', async () => {
  let refused = 0
  const target = memory((call) => {
    if (call.startsWith('events') && refused < 3) {
      refused += 1
      throw fault('server-unreachable')
    }
  })
  const { sink, taken } = takenBy(target)
  const { journal, drain } = await begin(sink)
  for (const step of ['a', 'b']) await runStep(journal, step, `said by ${step}\n`)
  await finish(journal)
  await drain.finish()
  expect(taken.filter((what) => what.startsWith('a'))).toEqual(['a begins', 'a 0-10', 'a ends'])
  expect(taken.filter((what) => what.startsWith('b'))).toEqual(['b begins', 'b 0-10', 'b ends'])
})

test('sends a step that ended and restarted before anything was accepted', async () => {
  let isAway = true
  const target = memory(() => {
    if (isAway) throw fault('server-unreachable')
  })
  const { sink, taken } = takenBy(target)
  const { journal, drain } = await begin(sink)
  await runStep(journal, 'a', '0123456789')
  await runStep(journal, 'a', 'again')
  isAway = false
  await finish(journal)
  await drain.finish()
  expect(taken.filter((what) => !/\d/.test(what))).toEqual(['a begins', 'a ends', 'a begins', 'a ends'])
  expect(taken.indexOf('a ends')).toBeGreaterThan(taken.findIndex((what) => /\d/.test(what)))
  expect(target.streams.get('step/a')?.toString()).toBe('0123456789again')
})

test('sends the last bytes of an ended step at once', async () => {
  const target = memory()
  const { sink, taken } = takenBy(target)
  // A pause that never ends: output that waits for it is never sent.
  const { journal } = await begin(sink, manualClock())
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  const stream = journal.stream(stepStream('a'))
  await stream.write(Buffer.from('first'))
  while (taken.length < 2) await systemClock.sleep(1)
  await stream.write(Buffer.from('last'))
  journal.append({
    type: 'step.finished',
    step: 'a',
    try: 1,
    status: 'success',
    members: {},
    exports: [],
    streams: { 'step/a': 9 },
  })
  while (taken.length < 4) await systemClock.sleep(1)
  expect(taken).toEqual(['a begins', 'a 0-5', 'a 5-9', 'a ends'])
})

test('ends at once for a stale attempt', async () => {
  const { sink } = memory(() => {
    throw fault('attempt-stale')
  })
  const { journal, drain } = await begin(sink)
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  await expect(drain.failed).rejects.toMatchObject({ code: 'attempt-stale' })
  await expect(drain.finish()).rejects.toMatchObject({ code: 'attempt-stale' })
})

test('flushes small output at the interval of the server', async () => {
  const target = memory()
  let flushMs: number | undefined = 900
  const clock = recordPauses(manualClock())
  const { journal } = await begin({ ...target.sink, flushMs: () => flushMs }, clock)
  /** Writes a byte and waits for its frame. Time passes only in pauses of the drain, not while it uses the disk. */
  const write = async (): Promise<void> => {
    const { length } = target.frames
    let passed = clock.pauses.length
    await journal.stream('system').write(Buffer.from('.'))
    while (target.frames.length === length) {
      for (const ms of clock.pauses.slice(passed)) clock.advance(ms)
      passed = clock.pauses.length
      await systemClock.sleep(1)
    }
  }
  await write()
  const times: number[] = []
  for (flushMs of [900, 900, 100, 100]) {
    const before = clock.monotonic()
    await write()
    times.push(clock.monotonic() - before)
  }
  expect(times).toEqual([900, 900, 100, 100])
})

test('sends everything since the last pause without further pauses', async () => {
  const target = memory()
  const clock = manualClock()
  const { journal } = await begin({ ...target.sink, flushMs: () => 5_000 }, clock)
  const stream = journal.stream('system')
  await stream.write(Buffer.from('.'))
  while (target.frames.length < 1) await systemClock.sleep(1)
  for (let n = 0; n < 20; n += 1) {
    clock.advance(150)
    await stream.write(Buffer.from('.'))
  }
  while (journal.extent('system').written < 21) await systemClock.sleep(1)
  expect(target.frames).toHaveLength(1)
  clock.advance(2_000)
  while ((target.streams.get('system')?.length ?? 0) < 21) await systemClock.sleep(1)
  expect(target.frames).toHaveLength(21)
})

test('sends first bytes at once, small output every 100 ms and large output in large frames', async () => {
  const target = memory()
  const clock = recordPauses(manualClock())
  const { journal } = await begin(target.sink, clock)
  const until = async (is: () => boolean): Promise<void> => {
    while (!is()) await systemClock.sleep(2)
  }
  const quiet = journal.stream('step/quiet')
  await quiet.write(Buffer.from('first\n'))
  // The clock does not advance here.
  await until(() => target.frames.length === 1)
  let periods = 0
  for (let round = 1; round <= 3; round += 1) {
    for (let n = 0; n < 20; n += 1) await quiet.write(Buffer.from('.'))
    // On a busy machine the output may need two frames, and then the second one is sent a period later.
    for (; (target.streams.get('step/quiet')?.length ?? 0) < 6 + 20 * round; periods += 1) {
      const { length } = clock.pauses
      clock.advance(100)
      await until(() => clock.pauses.length > length || (target.streams.get('step/quiet')?.length ?? 0) === 6 + 20 * round)
    }
  }
  expect(target.frames.length).toBeLessThanOrEqual(1 + periods)
  expect(periods).toBeLessThan(60)
  expect(clock.pauses.every((ms) => ms > 0 && ms <= 100)).toBe(true)
  expect(target.streams.get('step/quiet')?.toString()).toBe(`first\n${'.'.repeat(60)}`)
  const before = target.frames.length
  await journal.stream('step/loud').write(Buffer.alloc(4_000_000, 'y'))
  const sent = (): number => target.streams.get('step/loud')?.length ?? 0
  await until(() => sent() > 2_900_000)
  while (sent() < 4_000_000) {
    const { length } = clock.pauses
    clock.advance(100)
    await until(() => clock.pauses.length > length || sent() === 4_000_000)
  }
  // The first frame may be sent before all is written, and leave a rest for the last one.
  expect(target.frames.length - before).toBeLessThanOrEqual(6)
})

/** Returns the spool of a process that was killed after the end of step `a` while its last `lost` bytes were in memory only. */
async function leaveSpool(lost: number, acked = 0): Promise<string> {
  const dir = newFolder()
  const journal = await openJournal<EngineEvent>({
    dir,
    clock: systemClock,
    limitBytes: 1e9,
    decode: (v) => EngineEvent.parse(v),
  })
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  for (const text of ['first\n', 'x'.repeat(lost)]) {
    await journal.stream('step/a').write(Buffer.from(text))
    await journal.totals()
  }
  const streams = { 'step/a': 6 + lost }
  journal.append({ type: 'step.finished', step: 'a', try: 1, status: 'success', members: {}, exports: [], streams })
  await finish(journal)
  if (acked > 0) await journal.acknowledge('step/a', acked)
  await journal.close()
  const left = newFolder()
  cpSync(dir, left, { recursive: true })
  const [segment = ''] = readdirSync(join(left, '0001'))
  const path = join(left, '0001', segment)
  truncateSync(path, statSync(path).size - lost)
  return left
}

test('sends all events of a spool that lost the last bytes of a step', async () => {
  const target = memory()
  const { journal, drain } = await begin(target.sink, systemClock, await leaveSpool(100))
  expect(journal.foundEvents).toBe(3)
  await drain.finish()
  expect(target.events.map(({ type }) => type)).toEqual(['step.started', 'step.finished', 'attempt.finished'])
  expect(target.streams.get('step/a')?.toString()).toBe('first\n')
  expect(target.events.flatMap(announced)).toEqual([
    ['step/a', 6],
    ['step/a', 6],
  ])
  expect(journal.isDrained()).toBe(true)
})

test('keeps bytes on the server that the spool lost', async () => {
  const target = memory()
  const kept = Buffer.from(`first\n${'x'.repeat(50)}`)
  target.streams.set('step/a', kept)
  const { journal, drain } = await begin(target.sink, systemClock, await leaveSpool(100, 56))
  await drain.finish()
  expect(target.events.map(({ type }) => type)).toEqual(['step.started', 'step.finished', 'attempt.finished'])
  expect(target.streams.get('step/a')?.equals(kept)).toBe(true)
  expect(journal.isDrained()).toBe(true)
})

test('sends the end of a step and its attempt with the stored length if the disk failed', async () => {
  const target = memory()
  const dir = newFolder()
  const { journal, drain } = await begin(target.sink, systemClock, dir)
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  const stream = journal.stream('step/a')
  await stream.write(Buffer.alloc(9_000_000, 'x'))
  await journal.totals()
  // The folder is missing when the next segment starts.
  rmSync(join(dir, '0001'), { recursive: true })
  await stream.write(Buffer.from('lost'))
  const streams = { 'step/a': journal.extent('step/a').bytes }
  journal.append({ type: 'step.finished', step: 'a', try: 1, status: 'success', members: {}, exports: [], streams })
  await finish(journal)
  await drain.finish()
  expect(streams).toEqual({ 'step/a': 9_000_004 })
  expect(target.events.map(({ type }) => type)).toEqual(['step.started', 'step.finished', 'attempt.finished'])
  expect(target.streams.get('step/a')?.length).toBe(9_000_000)
})

test('sends several frames at once and neither loses nor duplicates a byte when some are refused', async () => {
  const random = fc.sample(fc.nat(99), { numRuns: 2_000, seed: 7 })
  const target = memory(() => {
    if ((random.pop() ?? 99) < 20) throw fault('server-unreachable')
  })
  let inFlight = 0
  let most = 0
  const { promise: second, resolve: hasSecond } = Promise.withResolvers<void>()
  const sink: Sink = {
    ...target.sink,
    async frame(frame, signal) {
      inFlight += 1
      most = Math.max(most, inFlight)
      if (most > 1) hasSecond()
      try {
        // A slow disk may deliver the frames one by one.
        await second
        // The bytes of a frame must stay unchanged until its answer. The answers come in any order.
        await systemClock.sleep((random.pop() ?? 0) / 20)
        expect(sha256(frame.bytes)).toBe(frame.sha256)
        return await target.sink.frame(frame, signal)
      } finally {
        inFlight -= 1
      }
    },
    inFlight: () => 4,
  }
  const { journal, drain } = await begin(sink)
  const output = Buffer.concat(Array.from({ length: 9 }, (_, n) => Buffer.alloc(1_000_003, n)))
  await journal.stream('step/a').write(output.subarray(0, 5_000_000))
  await journal.stream('step/a').write(output.subarray(5_000_000))
  await finish(journal)
  await drain.finish()
  expect(target.streams.get('step/a')?.equals(output)).toBe(true)
  expect(most).toBeLessThanOrEqual(4)
})

test('sends one frame at a time to a server that does not request more', async () => {
  const target = memory()
  let isBusy = false
  const sink: Sink = {
    ...target.sink,
    async frame(frame, signal) {
      expect([isBusy, frame.isAhead]).toEqual([false, false])
      isBusy = true
      await systemClock.sleep(1)
      isBusy = false
      return target.sink.frame(frame, signal)
    },
  }
  const { journal, drain } = await begin(sink)
  await journal.stream('step/a').write(Buffer.alloc(3_500_000, 'x'))
  await finish(journal)
  await drain.finish()
  expect(target.streams.get('step/a')?.length).toBe(3_500_000)
})

test('continues after the acknowledged bytes if a frame ahead was refused before they were stored', async () => {
  const target = memory()
  let refusals = 0
  const sink: Sink = {
    ...target.sink,
    async frame(frame, signal) {
      const end = target.streams.get(frame.stream)?.length ?? 0
      await systemClock.sleep(frame.isAhead ? 10 : 1)
      if (!frame.isAhead) return target.sink.frame(frame, signal)
      refusals += 1
      throw fault('log-offset', { offset: end })
    },
    inFlight: () => 4,
  }
  const { journal, drain } = await begin(sink)
  // More than one file of the spool: those of acknowledged bytes are deleted.
  const output = Buffer.concat(Array.from({ length: 20 }, (_, n) => Buffer.alloc(1_000_003, n)))
  for (let at = 0; at < output.length; at += 1_000_000) await journal.stream('step/a').write(output.subarray(at, at + 1_000_000))
  await finish(journal)
  await drain.finish()
  expect(target.streams.get('step/a')?.equals(output)).toBe(true)
  expect(refusals).toBeGreaterThan(0)
  // Nothing that was acknowledged is sent again.
  expect(target.frames.reduce((sum, { bytes }) => sum + bytes.byteLength, 0)).toBe(output.length)
})

test('begins the backoff anew when frames were accepted since the last fault', async () => {
  const answered = new Set<string>()
  const target = memory((call) => {
    // The answer to each third frame is lost, once: a frame that is lost each time would be retried with longer pauses.
    if (!call.startsWith('frame') || answered.has(call)) return
    answered.add(call)
    if (answered.size % 3 === 0) throw fault('server-unreachable')
  })
  const clock = recordPauses(systemClock)
  const { journal, drain } = await begin({ ...target.sink, inFlight: () => 4 }, clock)
  const output = Buffer.alloc(16_000_000, 'x')
  for (let at = 0; at < output.length; at += 1_000_000) await journal.stream('step/a').write(output.subarray(at, at + 1_000_000))
  await finish(journal)
  await drain.finish()
  expect(target.streams.get('step/a')?.equals(output)).toBe(true)
  // The first pause of a backoff is at most 200 ms, the second at most 400 ms.
  expect(Math.max(...clock.pauses)).toBeLessThanOrEqual(400)
})
