import type { LogLines, StreamEvent } from '@windlass/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Follower } from './follow.ts'
import { BLOCK_LINES, LineSource, type LoadLines } from './source.ts'

/** A stream of a log, as the server answers about it. */
class Stored {
  bytes: Uint8Array = new Uint8Array()
  readonly calls: number[] = []

  add(text: string): void {
    this.bytes = new Uint8Array([...this.bytes, ...new TextEncoder().encode(text)])
  }

  get lines(): string[] {
    const lines = new TextDecoder().decode(this.bytes).split(/(?<=\n)/)
    return lines.filter((line) => line !== '')
  }

  readonly load: LoadLines = async ({ from, count }) => {
    this.calls.push(from)
    const { lines } = this
    const first = from < 0 ? Math.max(0, lines.length + from) : from
    const text = lines.slice(first, first + count).join('')
    const size = (parts: readonly string[]): number => new TextEncoder().encode(parts.join('')).length
    const startByte = size(lines.slice(0, first))
    const shown = lines.slice(first, first + count).length
    const complete = shown === count && text.endsWith('\n')
    const answer: LogLines = {
      attempt: 1,
      stream: 's',
      from: first,
      lines: shown,
      total: lines.length,
      complete,
      startByte,
      bytes: size([text]),
      sgr: '',
      times: [],
      cut: [],
      text,
    }
    return answer
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

test('a followed stream has each line once, whatever its parts, repeats and left out bytes (W054)', async () => {
  const part = fc.record({
    text: fc.array(fc.constantFrom('a', 'ä', '😀', '\n', 'b\n'), { minLength: 1, maxLength: 8 }).map((all) => all.join('')),
    repeats: fc.nat(5),
    isLost: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('x', '\n')),
      fc.array(part, { minLength: 1, maxLength: 12 }),
      async (before, parts) => {
        const stored = new Stored()
        stored.add(before.join(''))
        let listen: ((event: StreamEvent) => void) | undefined
        let offset = 0
        const source = new LineSource(stored.load, () => undefined)
        const follower = new Follower({
          source,
          loadLast: () => stored.load({ from: -1, count: 1 }, new AbortController().signal),
          followBytes: (from, hear) => {
            offset = from
            listen = hear
            return () => undefined
          },
          now: () => 1,
          ended: () => undefined,
          failed: (error) => expect.fail(String(error)),
        })
        await follower.start()
        const send = (from: number): void => {
          const bytes = Buffer.from(stored.bytes.subarray(from)).toString('base64')
          listen?.({ event: 'log', id: '', data: { topic: 't', offset: from, bytes } })
        }
        send(offset)
        for (const { text, repeats, isLost } of parts) {
          const end = stored.bytes.length
          stored.add(text)
          if (isLost) continue
          send(Math.max(0, end - repeats))
          await settle()
          send(offset)
        }
        await settle()
        send(offset)
        await settle()
        const all = stored.lines.map((line) => line.replace('\n', ''))
        expect(source.total).toBe(all.length)
        for (const [number, text] of all.entries()) {
          if (source.lineAt(number) === undefined) source.want(number, number, 1)
          await settle()
          expect(source.lineAt(number)?.text).toBe(text)
        }
      },
    ),
    { numRuns: 60 },
  )
})

test('an unfinished line that is written again and again stays one line, whatever its bytes (W054)', async () => {
  const stored = new Stored()
  const source = new LineSource(stored.load, () => undefined)
  let listen: (event: StreamEvent) => void = () => undefined
  const follower = new Follower({
    source,
    loadLast: () => stored.load({ from: -1, count: 1 }, new AbortController().signal),
    followBytes: (_, hear) => {
      listen = hear
      return () => undefined
    },
    now: () => 0,
    ended: () => undefined,
    failed: (error) => expect.unreachable(String(error)),
  })
  await follower.start()
  let offset = 0
  const send = (text: string): void => {
    const bytes = Buffer.from(text)
    listen({ event: 'log', id: '1', data: { topic: 'log', offset, bytes: bytes.toString('base64') } })
    offset += bytes.length
  }
  send('Downloading\n')
  for (let n = 0; n < 600; n += 1) send(`\r${'#'.repeat(79)}`)
  expect(source.total).toBe(2)
  send('\nDone\n')
  expect(source.total).toBe(3)
  expect([0, 2].map((number) => source.lineAt(number)?.text)).toEqual(['Downloading', 'Done'])
})

test('a view of the end is never without text, also when the follower has been left behind', async () => {
  const stored = new Stored()
  const shown = 100
  const unread = new Set<number>()
  const source: LineSource = new LineSource(stored.load, () => look())
  function look(): void {
    for (let number = Math.max(0, source.total - shown); number < source.total; number += 1)
      if (source.lineAt(number) === undefined) unread.add(number)
  }
  let listen: (event: StreamEvent) => void = () => undefined
  const follower = new Follower({
    source,
    async loadLast() {
      look()
      return stored.load({ from: -1, count: 1 }, new AbortController().signal)
    },
    followBytes: (_, hear) => {
      look()
      listen = hear
      return () => undefined
    },
    now: () => 0,
    ended: () => undefined,
    failed: (error) => expect.unreachable(String(error)),
  })
  const grow = (lines: number): void => stored.add(Array.from({ length: lines }, () => 'line\n').join(''))
  grow(300)
  stored.add('unfinished')
  await follower.start()
  expect(source.total).toBe(301)
  const [ofStart] = [stored.calls.splice(0)]
  stored.add('\n')
  for (const lines of [5, 700, 40, 512, 20_000]) {
    grow(lines)
    listen({ event: 'behind', id: '1', data: { topic: 'log', from: 0, to: 0 } })
    await expect.poll(() => source.total).toBe(stored.lines.length)
  }
  expect([...unread]).toEqual([])
  expect(ofStart).toEqual([-1, 0])
})

test('a block that is read during a live log does not keep half of its last line (W054)', async () => {
  const stored = new Stored()
  stored.add('one\ntwo\nDownl')
  const source = new LineSource(stored.load, () => undefined)
  source.startTail(2)
  source.grow(3)
  source.want(0, 2, 1)
  await settle()
  const rest = Array.from({ length: 9_000 }, (_, n) => `line ${n}`)
  stored.add(`oading done\n${rest.map((line) => `${line}\n`).join('')}`)
  const toLine = (text: string): { text: string; style: ''; cut: number } => ({ text, style: '', cut: 0 })
  source.addToTail([toLine('Downloading done')], 2)
  source.addToTail(rest.map(toLine), 3)
  source.want(0, 10, 1)
  await settle()
  expect([0, 1, 2, 3].map((number) => source.lineAt(number)?.text)).toEqual(['one', 'two', 'Downloading done', 'line 0'])
})

test('reads whole blocks once, and keeps at most 64 of them', async () => {
  const stored = new Stored()
  stored.add(Array.from({ length: BLOCK_LINES * 3 }, (_, n) => `${n}\n`).join(''))
  const source = new LineSource(stored.load, () => undefined)
  source.grow(BLOCK_LINES * 3)
  source.want(0, 40, 1)
  await settle()
  expect(stored.calls).toEqual([0])
  source.want(10, 50, 1)
  await settle()
  expect(stored.calls).toEqual([0, BLOCK_LINES])
  source.want(10, 50, 1)
  await settle()
  expect(stored.calls).toHaveLength(2)
  const wide = new LineSource(
    async ({ from, count }) => ({
      ...(await stored.load({ from: 0, count: 0 }, new AbortController().signal)),
      from,
      lines: count,
      total: 1_000_000,
      text: `${'x'.repeat(99)}\n`.repeat(count),
    }),
    () => undefined,
  )
  wide.grow(1_000_000)
  for (let block = 0; block < 200; block += 1) {
    wide.want(block * BLOCK_LINES, block * BLOCK_LINES + 40, 1)
    await settle()
  }
  expect(wide.chars).toBeLessThanOrEqual(64 * BLOCK_LINES * 99)
  expect(wide.lineAt(199 * BLOCK_LINES)?.text).toHaveLength(99)
  expect(wide.lineAt(0)).toBeUndefined()
})
