import { TerminalInputBatch, type HttpResponse } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openClient } from '../client.ts'
import { fromBase64 } from './base64.ts'
import { KeySender } from './key-sender.ts'

interface Sent {
  readonly batches: TerminalInputBatch[]
  /** Answers the oldest open call with this status. */
  answer(status?: number): Promise<void>
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
  return {
    sender,
    sent: {
      batches,
      async answer(status = 200) {
        const text = status === 200 ? '{"seq":1}' : '{"code":"unavailable","detail":"away"}'
        const type = status === 200 ? 'application/json' : 'application/problem+json'
        const bytes = new TextEncoder().encode(text)
        const body = (async function* () {
          yield bytes
        })()
        open.shift()?.({ status, headers: { 'content-type': type }, body, text: async () => text })
        await settled()
      },
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
  await sent.answer(503)
  await sent.answer(503)
  await sent.answer()
  await sender.flushed()
  expect(sent.batches.map((batch) => [batch.seq, ...keysOf(batch)])).toEqual([
    [1, 'a'],
    [1, 'a'],
    [1, 'a'],
  ])
})

test('acknowledges every twenty parts, and with keys', async () => {
  const { sender, sent } = open()
  sender.acknowledge(19)
  await settled()
  expect(sent.batches).toEqual([])
  sender.acknowledge(20)
  await settled()
  expect(sent.batches).toEqual([{ seq: 1, parts: [], ackSeq: 20 }])
  await sent.answer()
  sender.acknowledge(25)
  press(sender, 'a')
  await settled()
  expect(sent.batches.at(-1)).toMatchObject({ seq: 1, ackSeq: 25 })
})

test('continues after the number that the server has, if another page has typed', async () => {
  const { sender, sent } = open(3)
  sender.recount(async () => 7)
  press(sender, 'a')
  await settled()
  expect(sent.batches).toMatchObject([{ seq: 8 }])
})
