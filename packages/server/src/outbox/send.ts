/**
 * Sends the messages of the outbox. They are stored in the transactions of their causes, so none is lost, and a server holds one by moving the time at which
 * it is due, so one that is killed delays it. A message can arrive twice; each kind has an identity that tells its receiver.
 */
import { attempt, backoffMs } from '@windlass/kit'
import { MESSAGE_KINDS, type MessageKind } from '@windlass/protocol'
import type { App } from '../app.ts'
import { finishMessage, hasDueMessage, MESSAGE_TOPIC, takeMessage } from '../store/messages.ts'
import type { MessageRow } from '../store/schema/schema.ts'
import { takeLoop } from '../take-loop.ts'
import type { Senders, Sent } from './sender.ts'
import { SENDERS } from './senders.ts'

/** How long no other server sends a message that one is sending, which is longer than any sender takes. Milliseconds. */
const HOLD_MS = 60_000
const RETRY = { baseMs: 2_000, maxMs: 600_000 }
/** Number of tries after which a message is given up: about two days. */
const MAX_TRIES = 300
/** Messages of one lane that a server sends at once, so that a slow receiver does not delay the others. */
const AT_ONCE = 8

/** Kinds of messages with slots of their own: receivers that people name must not delay commit statuses. */
const LANES: readonly (readonly MessageKind[])[] = [MESSAGE_KINDS.filter((kind) => kind !== 'notification'), ['notification']]

/** Sends messages as they are stored, until the server closes. */
export async function outboxLoop(app: App, all: Senders = SENDERS): Promise<void> {
  await Promise.all(
    LANES.map((kinds) => {
      const senders = pick(all, kinds)
      return takeLoop(app, {
        what: 'outbox',
        topic: MESSAGE_TOPIC,
        atOnce: AT_ONCE,
        take: () => takeNext(app, senders),
        carryOut: (taken) => deliver(app, taken, senders),
      })
    }),
  )
}

function pick(senders: Senders, kinds: readonly MessageKind[]): Senders {
  return Object.fromEntries(kinds.map((kind) => [kind, senders[kind]]))
}

/** Sends every message that is due, one after the other. */
export async function sendMessages(app: App, senders: Senders = SENDERS): Promise<void> {
  for (let taken = await takeNext(app, senders); taken !== undefined; taken = await takeNext(app, senders))
    await deliver(app, taken, senders)
}

async function takeNext({ store, clock, closing }: App, senders: Senders): Promise<MessageRow | undefined> {
  const due = { kinds: MESSAGE_KINDS.filter((kind) => senders[kind] !== undefined), now: clock.now() }
  if (closing.aborted || !(await hasDueMessage(store.query, due))) return undefined
  return store.write((tx) => takeMessage(tx, { ...due, holdMs: HOLD_MS }))
}

/** Never throws: a message whose result cannot be stored is due again when its hold ends. */
async function deliver(app: App, taken: MessageRow, senders: Senders): Promise<void> {
  await attempt(app.log, 'message', async () => {
    const { problem, mayRetry = false, afterMs = 0 } = await trySend(app, taken, senders)
    const now = app.clock.now()
    const isAgain = problem !== null && mayRetry && taken.tries < MAX_TRIES
    const retryAt = isAgain ? now + Math.max(afterMs, backoffMs(RETRY, taken.tries)) : null
    if (problem !== null && !isAgain) {
      app.metrics.messagesFailed.inc({ kind: taken.kind })
      app.log.warn({ messageId: taken.id, kind: taken.kind, subject: taken.subject, problem }, 'message given up')
    }
    await app.store.write((tx) => finishMessage(tx, taken, { now, problem, retryAt }))
  })
}

/** A bug of a sender is retried like a receiver that is away, because a new version of the server may mend it. */
async function trySend(app: App, taken: MessageRow, senders: Senders): Promise<Sent> {
  const send = senders[taken.kind]
  if (send === undefined) return { problem: 'This server cannot send it.', mayRetry: true }
  try {
    return await send(app, taken)
  } catch (error) {
    if (app.closing.aborted) throw error
    app.log.error({ err: error, messageId: taken.id, kind: taken.kind }, 'message not sent')
    return { problem: 'The server failed to send it.', mayRetry: true }
  }
}
