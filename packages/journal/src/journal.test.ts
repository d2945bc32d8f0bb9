import fs, { appendFileSync, existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, truncateSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { manualClock, sha256, type ManualClock } from '@windlass/kit'
import { openJournal, type Journal } from './journal.ts'

interface TestEvent {
  readonly seq: number
  readonly at: number
  readonly word: string
}

const folders: string[] = []
const undo: (() => void)[] = []

afterEach(() => {
  for (const restore of undo.splice(0)) restore()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'journal-'))
  folders.push(folder)
  return folder
}

function open(
  dir: string,
  options: { clock?: ManualClock; limitBytes?: number; reserveBytes?: number; onFull?: (full: boolean) => void } = {},
): Promise<Journal<TestEvent>> {
  const { clock = manualClock(1_000), limitBytes = 1e9, onFull, ...more } = options
  return openJournal<TestEvent>({
    dir,
    clock,
    limitBytes,
    decode: (value) => value as TestEvent,
    ...(onFull && { onFull }),
    ...more,
  })
}

/** Reads and acknowledges everything in a stream, like a sink. */
async function takeAll(journal: Journal<TestEvent>, stream: string, maxBytes = 100): Promise<Buffer> {
  const parts: Buffer[] = []
  for (;;) {
    const frame = await journal.readFrame(stream, maxBytes)
    if (frame === undefined) return Buffer.concat(parts)
    expect(frame.bytes.length).toBeLessThanOrEqual(maxBytes)
    expect(frame.sha256).toBe(sha256(frame.bytes))
    parts.push(Buffer.from(frame.bytes))
    expect(await journal.acknowledge(stream, frame.offset + frame.bytes.length)).toBe(true)
  }
}

type Move =
  | { readonly kind: 'write'; readonly stream: number; readonly size: number }
  | { readonly kind: 'send'; readonly stream: number; readonly maxBytes: number; readonly lost: boolean }
  | { readonly kind: 'event'; readonly word: string }
  | { readonly kind: 'ack-events'; readonly count: number }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'crash'; readonly torn: number }

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('write' as const), stream: fc.nat(2), size: fc.integer({ min: 0, max: 3000 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      stream: fc.nat(2),
      maxBytes: fc.integer({ min: 1, max: 2000 }),
      lost: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('event' as const), word: fc.string() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ack-events' as const), count: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(300) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), torn: fc.nat(40) }) },
)

test('delivers every byte and event once for any writes, sends, losses and crashes', async () => {
  let counter = 0
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 40 }), async (moves) => {
      const dir = newFolder()
      const clock = manualClock(1_000)
      let journal = await open(dir, { clock })
      const written = [0, 1, 2].map(() => [] as Buffer[])
      const kept = [0, 1, 2].map(() => Buffer.alloc(0))
      const words: string[] = []
      let events: TestEvent[] = []
      const deliver = async (stream: number, maxBytes: number, lost: boolean): Promise<void> => {
        const frame = await journal.readFrame(String(stream), maxBytes)
        if (frame === undefined) return
        const end = kept[stream]?.length ?? 0
        // The receiver takes contiguous frames and returns its end. A lost response means that the frame is sent again.
        if (frame.offset <= end && frame.offset + frame.bytes.length > end)
          kept[stream] = Buffer.concat([kept[stream] ?? Buffer.alloc(0), frame.bytes.subarray(end - frame.offset)])
        if (!lost) expect(await journal.acknowledge(String(stream), kept[stream]?.length ?? 0)).toBe(true)
      }
      const takeEvents = (count: number): void => {
        for (const event of journal.nextEvents(count)) if (event.seq === events.length + 1) events = [...events, event]
        journal.acknowledgeEvents(events.length)
      }
      for (const step of moves) {
        if (step.kind === 'write') {
          counter += 1
          const bytes = Buffer.alloc(step.size, `${counter},`)
          await journal.stream(String(step.stream)).write(bytes)
          written[step.stream]?.push(bytes)
        } else if (step.kind === 'send') await deliver(step.stream, step.maxBytes, step.lost)
        else if (step.kind === 'event') {
          expect(journal.append({ word: step.word }).seq).toBe(words.length + 1)
          words.push(step.word)
        } else if (step.kind === 'ack-events') takeEvents(step.count)
        else if (step.kind === 'wait') clock.advance(step.ms)
        else {
          await journal.close()
          tear(dir, step.torn)
          journal = await open(dir, { clock })
        }
      }
      await journal.totals()
      for (const stream of [0, 1, 2]) {
        while (journal.waiting().some((waiting) => waiting.stream === String(stream))) await deliver(stream, 700, false)
      }
      takeEvents(1000)
      for (const stream of [0, 1, 2]) {
        const whole = Buffer.concat(written[stream] ?? [])
        expect(kept[stream]?.equals(whole)).toBe(true)
        const total = (await journal.totals())[String(stream)]
        if (total !== undefined) expect(total).toEqual({ bytes: whole.length, sha256: sha256(whole) })
      }
      expect(events.map(({ word }) => word)).toEqual(words)
      expect(journal.isDrained()).toBe(true)
      await journal.remove()
    }),
    { numRuns: 60 },
  )
})

/** Simulates a process that dies during a write: partial records after the complete ones. */
function tear(dir: string, bytes: number): void {
  if (bytes === 0) return
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.seg') || name === 'events.log') appendFileSync(join(dir, name), Buffer.alloc(bytes, 7))
  }
}

test('removes a truncated record when opening and continues after the last complete one', async () => {
  const dir = newFolder()
  const journal = await open(dir)
  await journal.stream('s').write(Buffer.from('whole '))
  await journal.totals()
  await journal.stream('s').write(Buffer.from('torn'))
  await journal.close()
  const segment = readdirSync(join(dir, '0001'))[0] ?? ''
  truncateSync(join(dir, '0001', segment), statSync(join(dir, '0001', segment)).size - 2)
  const again = await open(dir)
  await again.stream('s').write(Buffer.from('new'))
  await again.totals()
  expect((await takeAll(again, 's')).toString()).toBe('whole new')
  await again.close()
})

test('limits a frame to bytes of 100 ms and returns the time of its first byte', async () => {
  const clock = manualClock(5_000)
  const journal = await open(newFolder(), { clock })
  const stream = journal.stream('s')
  for (const word of ['a', 'b', 'c', 'd']) {
    await stream.write(Buffer.from(word))
    await journal.totals()
    clock.advance(60)
  }
  const seen: string[] = []
  for (let frame = await journal.readFrame('s', 100); frame !== undefined; frame = await journal.readFrame('s', 100)) {
    seen.push(`${frame.at}:${Buffer.from(frame.bytes).toString()}`)
    await journal.acknowledge('s', frame.offset + frame.bytes.length)
  }
  expect(seen).toEqual(['5000:ab', '5120:cd'])
  await journal.close()
})

test('blocks writers of a full spool until an acknowledgement and loses nothing', async () => {
  const full: boolean[] = []
  const journal = await open(newFolder(), { limitBytes: 1000, onFull: (state) => full.push(state) })
  const stream = journal.stream('s')
  await stream.write(Buffer.alloc(1000, 'a'))
  let isDone = false
  const waiting = stream.write(Buffer.from('b')).then(() => (isDone = true))
  const stopped = new AbortController()
  const other = journal.stream('t').write(Buffer.from('c'), stopped.signal)
  await journal.totals()
  expect(isDone).toBe(false)
  stopped.abort(new Error('enough'))
  await expect(other).rejects.toThrow('enough')
  expect((await takeAll(journal, 's', 600)).toString()).toMatch(/^a{1000}b?$/)
  await waiting
  expect(full).toEqual([true, false])
  await journal.totals()
  await takeAll(journal, 's', 600)
  expect((await journal.totals())['s']).toEqual({ bytes: 1001, sha256: sha256(`${'a'.repeat(1000)}b`) })
  await journal.close()
})

test('deletes acknowledged segments and refuses an offset that is gone', async () => {
  const dir = newFolder()
  const journal = await open(dir)
  const stream = journal.stream('s')
  const piece = Buffer.alloc(1_000_000, 'x')
  for (let n = 0; n < 20; n += 1) await stream.write(piece)
  const { s } = await journal.totals()
  expect(s?.bytes).toBe(20_000_000)
  const before = readdirSync(join(dir, '0001')).length
  expect((await takeAll(journal, 's', 500_000)).length).toBe(20_000_000)
  expect(before).toBeGreaterThan(1)
  expect(readdirSync(join(dir, '0001'))).toHaveLength(1)
  expect(await journal.acknowledge('s', 5)).toBe(false)
  expect(await journal.acknowledge('s', 20_000_001)).toBe(false)
  await journal.close()
})

test('wakes waiters for every write, event and acknowledgement', async () => {
  const journal = await open(newFolder())
  const end = new AbortController()
  let seen = journal.version
  const news = journal.changed(seen, end.signal)
  journal.append({ word: 'x' })
  await news
  seen = journal.version
  await journal.stream('s').write(Buffer.from('y'))
  await journal.changed(seen, end.signal)
  expect(journal.version).toBeGreaterThan(seen)
  const idle = journal.changed(journal.version, end.signal)
  end.abort()
  await idle
  await journal.close()
})

test('drops bytes that a failed disk did not store and delivers the earlier ones', async () => {
  const dir = newFolder()
  const journal = await open(dir)
  const whole = Buffer.alloc(9_000_000, 'x')
  await journal.stream('s').write(whole)
  await journal.flushed('s')
  // The folder is missing when the next segment starts.
  rmSync(join(dir, '0001'), { recursive: true })
  const seen = journal.version
  await journal.stream('s').write(Buffer.from('lost'))
  await journal.changed(seen, new AbortController().signal)
  await expect(journal.flushed('s')).rejects.toThrow('ENOENT')
  await expect(journal.stream('s').write(Buffer.from('more'))).rejects.toThrow('ENOENT')
  expect(journal.extent('s')).toEqual({ bytes: 9_000_000, written: 9_000_000, acked: 0 })
  expect(await journal.totals()).toEqual({ s: { bytes: 9_000_000, sha256: sha256(whole) } })
  expect((await takeAll(journal, 's', 1_000_000)).length).toBe(9_000_000)
  expect(journal.isDrained()).toBe(true)
  await journal.close()
})

/** Refuses to write events, as on a full disk, while `isFull` returns true. */
function fillDisk(isFull: () => boolean): void {
  const write = fs.writevSync
  const spy = vi.spyOn(fs, 'writevSync').mockImplementation((...args) => {
    if (isFull()) throw Object.assign(new Error('ENOSPC: no space left on device, writev'), { code: 'ENOSPC' })
    return write(...args)
  })
  syncBuiltinESMExports()
  undo.push(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
}

test('writes the last event to reserved space if the disk is full', async () => {
  const dir = newFolder()
  const journal = await open(dir, { reserveBytes: 65_536 })
  const reserve = join(dir, 'reserve')
  expect(statSync(reserve).size).toBe(65_536)
  journal.append({ word: 'first' })
  fillDisk(() => existsSync(reserve))
  expect(() => journal.append({ word: 'lost' })).toThrow('The log spool is full.')
  expect(journal.appendLast({ word: 'last' })).toMatchObject({ seq: 2, word: 'last' })
  await journal.close()
  const again = await open(dir)
  expect(again.nextEvents(9).map(({ word }) => word)).toEqual(['first', 'last'])
  await again.close()
})

test('refuses the last event if the disk is full without reserved space', async () => {
  const journal = await open(newFolder())
  fillDisk(() => true)
  expect(() => journal.appendLast({ word: 'last' })).toThrow('The log spool is full.')
  await journal.close()
})

test('does not wait for later bytes in flushed', async () => {
  const journal = await open(newFolder())
  const busy = journal.stream('busy')
  await busy.write(Buffer.from('first'))
  let isBusy = true
  const writing = (async () => {
    while (isBusy) {
      await busy.write(Buffer.from('next'))
      await Promise.resolve()
    }
  })()
  await journal.flushed('busy')
  expect(journal.extent('busy').written).toBeGreaterThanOrEqual(5)
  isBusy = false
  await writing
  await journal.close()
})

test('reads a stream of an earlier process while hashing it, and drops the hash if parts are deleted meanwhile', async () => {
  const dir = newFolder()
  const journal = await open(dir)
  const whole = Buffer.alloc(20_000_000, Buffer.from(Array.from({ length: 251 }, (_, n) => n)))
  await journal.stream('s').write(whole)
  await journal.close()
  const next = await open(dir)
  const [totals, taken] = await Promise.all([next.totals(), takeAll(next, 's', 300_000)])
  expect(taken.equals(whole)).toBe(true)
  expect([undefined, sha256(whole)]).toContain(totals['s']?.sha256)
  expect(totals['s']?.bytes).toBe(whole.length)
  await next.close()
})

test('closes every file that it opened for a reader and a writer at the same time', async () => {
  const dir = newFolder()
  const journal = await open(dir)
  await journal.stream('s').write(Buffer.from('first '))
  await journal.close()
  const next = await open(dir)
  const stream = next.stream('s')
  await Promise.all([next.readFrame('s', 100), stream.write(Buffer.from('second'))])
  await next.flushed('s')
  expect((await takeAll(next, 's')).toString()).toBe('first second')
  await next.close()
  expect(openFiles().filter((path) => path.startsWith(dir))).toEqual([])
})

/** Returns the paths of the open files of this process. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // The file that lists the folder is closed again.
      return []
    }
  })
}
