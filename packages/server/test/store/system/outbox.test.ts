/** The outbox: each message reaches its receiver, the last one of its key at the latest, although receivers are away and servers are killed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { listMessagePage, retryMessage } from '../../../src/outbox/messages.ts'
import type { Senders, Sent } from '../../../src/outbox/sender.ts'
import { outboxLoop, sendMessages } from '../../../src/outbox/send.ts'
import { deleteOldMessages, putMessage, takeMessage } from '../../../src/store/messages.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const KIND = 'notification'

async function put(app: App, state: string, key = 'one'): Promise<void> {
  const { accountId, clock } = app
  await app.store.write((tx) =>
    putMessage(tx, { accountId, key, kind: KIND, subject: `about ${key}`, body: { state }, now: clock.now() }),
  )
}

interface Receiver {
  readonly senders: Senders
  readonly got: string[]
  /** Results of the next tries. Default: sent. */
  answers: Sent[]
  /** Runs while a message is being sent. */
  meanwhile: (() => Promise<void>) | undefined
}

function openReceiver(): Receiver {
  const receiver: Receiver = {
    got: [],
    answers: [],
    meanwhile: undefined,
    senders: {
      async [KIND](_app, { body }) {
        receiver.got.push((JSON.parse(body) as { state: string }).state)
        const { meanwhile } = receiver
        receiver.meanwhile = undefined
        await meanwhile?.()
        return receiver.answers.shift() ?? { problem: null }
      },
    },
  }
  return receiver
}

const states = async (app: App): Promise<string[]> => (await listMessagePage(app, { limit: 100 })).items.map(({ state }) => state)

describe.each(DATABASES)('the outbox on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a receiver that is away gets only the last message of a key, and an equal one is not sent again', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const { senders, got } = openReceiver()
    await put(app, 'pending')
    await put(app, 'failed')
    await put(app, 'another', 'two')
    await sendMessages(app, senders)
    expect(got.toSorted()).toEqual(['another', 'failed'])
    await put(app, 'failed')
    clock.advance(3_600_000)
    await sendMessages(app, senders)
    expect(got).toHaveLength(2)
    expect(await states(app)).toEqual(['sent', 'sent'])
  })

  test('a try that can succeed is repeated with growing pauses, or when the receiver asks for it', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const receiver = openReceiver()
    receiver.answers = [
      { problem: 'away', mayRetry: true },
      { problem: 'busy', mayRetry: true, afterMs: 100_000 },
    ]
    await put(app, 'x')
    await sendMessages(app, receiver.senders)
    await sendMessages(app, receiver.senders)
    expect(receiver.got).toHaveLength(1)
    clock.advance(2_000)
    await sendMessages(app, receiver.senders)
    expect(receiver.got).toHaveLength(2)
    clock.advance(99_000)
    await sendMessages(app, receiver.senders)
    expect((await listMessagePage(app, { limit: 1 })).items).toMatchObject([{ state: 'waiting', problem: 'busy', tries: 2 }])
    clock.advance(1_000)
    await sendMessages(app, receiver.senders)
    expect(receiver.got).toHaveLength(3)
    expect((await listMessagePage(app, { limit: 1 })).items).toMatchObject([{ state: 'sent', tries: 3 }])
  })

  test('a new message does not wait for those whose receiver is away', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const receiver = openReceiver()
    receiver.answers = [
      { problem: 'away', mayRetry: true },
      { problem: 'away', mayRetry: true },
    ]
    await put(app, 'one')
    await put(app, 'two', 'two')
    await sendMessages(app, receiver.senders)
    clock.advance(60_000)
    await put(app, 'new', 'three')
    await sendMessages(app, receiver.senders)
    expect(receiver.got[2]).toBe('new')
    expect(receiver.got).toHaveLength(5)
  })

  test('a refused message is given up, and a user can send it again', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const receiver = openReceiver()
    receiver.answers = [{ problem: 'no such hook' }]
    await put(app, 'x')
    await sendMessages(app, receiver.senders)
    clock.advance(86_400_000)
    await sendMessages(app, receiver.senders)
    const [message] = (await listMessagePage(app, { limit: 10, state: 'failed' })).items
    expect(message).toMatchObject({ state: 'failed', problem: 'no such hook', subject: 'about one' })
    await retryMessage(app, message?.id ?? '')
    await sendMessages(app, receiver.senders)
    expect(receiver.got).toHaveLength(2)
    expect(await states(app)).toEqual(['sent'])
    await expect(retryMessage(app, 'a'.repeat(24))).rejects.toMatchObject({ code: 'not-found' })
  })

  test('a message that is replaced while it is being sent is followed by the new one, in this order', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const receiver = openReceiver()
    receiver.meanwhile = async () => {
      await put(app, 'success')
      // Another server does not overtake the one that is sending.
      await sendMessages(app, receiver.senders)
    }
    await put(app, 'pending')
    await sendMessages(app, receiver.senders)
    expect(receiver.got).toEqual(['pending', 'success'])
    expect(await states(app)).toEqual(['sent'])
  })

  test('the message of a server that is killed while it sends is sent by another one, and a bug does not lose it', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const receiver = openReceiver()
    await put(app, 'x')
    await app.store.write((tx) => takeMessage(tx, { kinds: [KIND], now: clock.now(), holdMs: 60_000 }))
    await sendMessages(app, receiver.senders)
    expect(receiver.got).toEqual([])
    clock.advance(60_000)
    await sendMessages(app, { [KIND]: () => Promise.reject(new Error('a bug')) })
    clock.advance(10_000)
    await sendMessages(app, receiver.senders)
    expect(receiver.got).toEqual(['x'])
  })

  test('a server leaves kinds that it does not know to a newer one, and deletes only what is done', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const receiver = openReceiver()
    await put(app, 'x')
    await sendMessages(app, {})
    const old = { before: clock.now() + 1, limit: 10 }
    expect(await app.store.write((tx) => deleteOldMessages(tx, old))).toBe(0)
    await sendMessages(app, receiver.senders)
    expect(receiver.got).toEqual(['x'])
    expect(await app.store.write((tx) => deleteOldMessages(tx, old))).toBe(1)
    expect(await states(app)).toEqual([])
  })

  test('receivers of notifications that hang do not delay commit statuses', async () => {
    const held = await openTestApp(database)
    const { app } = held
    const { accountId, clock } = app
    const hang = Promise.withResolvers<Sent>()
    const sent: string[] = []
    const loop = outboxLoop(app, {
      notification: async () => hang.promise,
      'commit-status': async (_app, { subject }) => {
        sent.push(subject)
        return { problem: null }
      },
    })
    for (let n = 0; n < 20; n += 1) await put(app, 'x', `hangs ${n}`)
    const status = { accountId, key: 'status', kind: 'commit-status', subject: 'a commit', body: {} } as const
    await app.store.write((tx) => putMessage(tx, { ...status, now: clock.now() }))
    await expect.poll(() => sent).toEqual(['a commit'])
    hang.resolve({ problem: null })
    await expect.poll(() => states(app)).toEqual(Array.from({ length: 21 }, () => 'sent'))
    await held[Symbol.asyncDispose]()
    await loop
  })
})
