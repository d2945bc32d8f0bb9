import { TerminalInputBatch, type HttpResponse } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openClient } from '../client.ts'
import { fromBase64 } from './base64.ts'
import { KeySender } from './key-sender.ts'

interface Sent {
  readonly batches: TerminalInputBatch[]
  /** Answers the oldest open call, as a server that has input up to `seq`. */
  answer(seq?: number): Promise<void>
  /** Answers the oldest open call with a failure. */
  fail(): Promise<void>
}

function open(inputSeq = 0): { readonly sender: KeySender; readonly sent: Sent } {
  const batches: TerminalInputBatch[] = []
  const open: ((response: HttpResponse) => void)[] = []
  const client = openClient({
    url: 'http://server',
    transport: ({ body }) => {
      batches.push(JSON.parse(String(body)) as TerminalInputBatch)
      const { promise, resolve } = Promise.withResolvers<HttpResponse>()
      open.push(resolve)
      return promise
    },
  })
  const sender = new KeySender({
    client,
    buildId: 'b',
    terminal: 't',
    inputSeq,
    signal: new AbortController().signal,
    pause: async () => undefined,
  })
  const reply = async (status: number, type: string, text: string): Promise<void> => {
    const body = (async function* () {
      yield new TextEncoder().encode(text)
    })()
    open.shift()?.({ status, headers: { 'content-type': type }, body, text: async () => text })
    await settled()
  }
  return {
    sender,
    sent: {
      batches,
      async answer(seq) {
        const { seq: first, parts } = batches[batches.length - open.length] ?? { seq: 1, parts: [] }
        await reply(200, 'application/json', JSON.stringify({ seq: seq ?? first - 1 + parts.length }))
      },
      fail: async () => reply(503, 'application/problem+json', '{"code":"unavailable","detail":"away"}'),
    },
  }
}

/** Resolves when calls that began have reached the transport. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

const press = (sender: KeySender, text: string): void => sender.press(new TextEncoder().encode(text))

function keysOf(batch: TerminalInputBatch | undefined): string[] {
  return (batch?.parts ?? []).map((part) =>
    'keys' in part ? new TextDecoder().decode(fromBase64(part.keys)) : `${part.columns}x${part.rows}`,
  )
}

test('one call is under way, and what is typed meanwhile is one part of the next', async () => {
  const { sender, sent } = open(4)
  press(sender, 'l')
  await settled()
  press(sender, 's')
  press(sender, '\r')
  sender.resize({ columns: 80, rows: 24 })
  press(sender, 'x')
  expect(sent.batches.map(({ seq }) => seq)).toEqual([5])
  await sent.answer()
  expect(sent.batches.map(({ seq }) => seq)).toEqual([5, 6])
  expect(sent.batches.map(keysOf)).toEqual([['l'], ['s\r', '80x24', 'x']])
  await sent.answer()
  press(sender, 'y')
  await settled()
  expect(sent.batches.at(-1)).toMatchObject({ seq: 9 })
})

test('a long paste is sent in parts that the server accepts', async () => {
  const { sender, sent } = open()
  const paste = 'x'.repeat(1_000_000)
  press(sender, 'a')
  await settled()
  press(sender, paste)
  const flushed = sender.flushed()
  for (let calls = 0; calls < 10; calls += 1) await sent.answer()
  await flushed
  const batches = sent.batches.map((batch) => TerminalInputBatch.parse(batch))
  expect(batches.flatMap(keysOf).join('')).toBe(`a${paste}`)
  expect(Math.max(...batches.map((batch) => JSON.stringify(batch).length))).toBeLessThan(1_048_576)
})

test('a call without an answer is repeated with the same numbers', async () => {
  const { sender, sent } = open()
  press(sender, 'a')
  await settled()
  await sent.fail()
  await sent.fail()
  await sent.answer()
  await sender.flushed()
  expect(sent.batches.map((batch) => [batch.seq, ...keysOf(batch)])).toEqual([
    [1, 'a'],
    [1, 'a'],
    [1, 'a'],
  ])
})

test('acknowledges every twenty parts, every 64 KiB, and with keys', async () => {
  const { sender, sent } = open()
  sender.acknowledge(19, 10)
  await settled()
  expect(sent.batches).toEqual([])
  sender.acknowledge(20, 10)
  await settled()
  expect(sent.batches).toEqual([{ seq: 1, parts: [], ackSeq: 20 }])
  await sent.answer()
  sender.acknowledge(21, 32_768)
  await settled()
  expect(sent.batches).toHaveLength(1)
  sender.acknowledge(22, 32_768)
  await settled()
  expect(sent.batches.at(-1)).toEqual({ seq: 1, parts: [], ackSeq: 22 })
  await sent.answer()
  sender.acknowledge(25, 10)
  press(sender, 'a')
  await settled()
  expect(sent.batches.at(-1)).toMatchObject({ seq: 1, ackSeq: 25 })
})

test('sends keys again with the next numbers if another sender took theirs', async () => {
  const { sender, sent } = open(3)
  press(sender, 'a')
  await settled()
  await sent.answer(7)
  expect(sent.batches.map((batch) => [batch.seq, ...keysOf(batch)])).toEqual([
    [4, 'a'],
    [8, 'a'],
  ])
  await sent.answer()
  press(sender, 'b')
  await settled()
  expect(sent.batches.at(-1)).toMatchObject({ seq: 9 })
})

test('keys whose answer was lost are not typed twice after another sender typed', async () => {
  const { sender, sent } = open()
  press(sender, 'a')
  await settled()
  await sent.fail()
  await sent.answer(5)
  await sender.flushed()
  expect(sent.batches.map(({ seq }) => seq)).toEqual([1, 1])
  press(sender, 'b')
  await settled()
  expect(sent.batches.at(-1)).toMatchObject({ seq: 6 })
})

test('continues after the number that the server has, if another page has typed', async () => {
  const { sender, sent } = open(3)
  sender.recount(async () => 7)
  press(sender, 'a')
  await settled()
  expect(sent.batches).toMatchObject([{ seq: 8 }])
})
