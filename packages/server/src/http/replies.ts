/** Idempotency-Key: a repeated POST gets the response of the first one, for a day. */
import type { IncomingHttpHeaders } from 'node:http'
import { fault, sha256 } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import type { App } from '../app.ts'
import { replyPlace } from '../secrets/places.ts'
import { finishReply, findReply, insertReply } from '../store/account/replies.ts'
import type { Tx } from '../store/store.ts'
import type { Answer } from './route.ts'

export interface Repeatable {
  /** Response of the first call, if there is one. */
  readonly earlier: Answer | undefined
  /**
   * Stores the status and body of the response; other headers are not repeated. Throws `unavailable` if a call with the same key on another server was
   * faster; a repeat gets the response of that call.
   */
  settle(tx: Tx, answer: Answer): Promise<void>
  /** Stores the response of a call that did not store it in its own transaction. */
  finish(answer: Answer): Promise<void>
  /**
   * Returns the stored response of a call that failed: the connection to the database broke after the commit, or another server has carried out a call
   * with the same key, whose effect is the cause of the error. Throws the error if there is no response.
   */
  recover(error: unknown): Promise<Answer>
  /** Allows the key to be used again after the call. */
  release(): void
}

interface Sent {
  readonly headers: IncomingHttpHeaders
  readonly query: unknown
}

/** Returns what identifies a call that is sent again: the header, or the query parameter `repeatKey` that clients of the route send instead. */
export function repeatKeyOf({ repeatKey }: { readonly repeatKey?: string }, { headers, query }: Sent): string | undefined {
  const header = headers['idempotency-key']
  if (typeof header === 'string' || repeatKey === undefined || !isRecord(query))
    return typeof header === 'string' ? header : undefined
  const parameter = query[repeatKey]
  return typeof parameter === 'string' ? parameter : undefined
}

const MAX_KEY = 200
/** Calls that run in this process. Their promises resolve when they end. */
const running = new Map<string, Promise<void>>()

/**
 * Starts a call with a key, after the end of an earlier call with it: a repeat may arrive before the call whose connection was lost has ended.
 * Throws `idempotency-mismatch` if the key was used for another request.
 */
export async function beginRepeatable(
  app: App,
  actor: { readonly id: string },
  request: { key: string; method: string; url: string; body: unknown },
): Promise<Repeatable> {
  const { key } = request
  if (key.length > MAX_KEY)
    throw fault('request-invalid', {
      message: `The Idempotency-Key has more than ${MAX_KEY} characters.`,
      hint: 'Use a shorter key.',
    })
  const id = { accountId: app.accountId, actorId: actor.id, key }
  const requestHash = sha256(JSON.stringify([request.method, request.url, request.body]))
  const name = JSON.stringify([id, app.dataDir])
  const sealedAt = replyPlace(id)
  let stored = await findReply(app.store.query, id)
  for (let first = running.get(name); first !== undefined; first = running.get(name)) {
    await first
    stored = await findReply(app.store.query, id)
  }
  if (stored !== undefined && stored.request_hash !== requestHash) throw fault('idempotency-mismatch')
  const open = (reply: typeof stored): Answer | undefined =>
    typeof reply?.body === 'string' ? toAnswer(app.vault.open(sealedAt, reply.body), reply.status) : undefined
  const earlier = open(stored)
  if (earlier !== undefined)
    return { earlier, settle: noop, finish: noop, recover: async () => earlier, release: () => undefined }
  const ended = Promise.withResolvers<void>()
  running.set(name, ended.promise)
  const release = (): void => {
    running.delete(name)
    ended.resolve()
  }
  let isSettled = false
  const settle = async (tx: Tx, answer: Answer): Promise<void> => {
    const body = (await app.vault.sealer(tx)).seal(sealedAt, JSON.stringify(answer.body ?? null))
    if (!(await finishReply(tx, { ...id, requestHash }, { status: answer.status, body })))
      throw fault('unavailable', {
        message: 'Another call with this Idempotency-Key has finished in the meantime.',
        hint: 'Repeat the call with the same key to get its answer.',
      })
    isSettled = true
  }
  try {
    await app.store.write((tx) => insertReply(tx, { ...id, requestHash, now: app.clock.now() }))
  } catch (error) {
    release()
    throw error
  }
  return {
    earlier: undefined,
    settle,
    async finish(answer) {
      if (!isSettled) await app.store.write((tx) => settle(tx, answer))
    },
    async recover(error) {
      const reply = await findReply(app.store.query, id).catch(() => undefined)
      // Another server may have taken the key for another request in the same moment.
      const answer = reply?.request_hash === requestHash ? open(reply) : undefined
      if (answer === undefined) throw error
      return answer
    },
    release,
  }
}

async function noop(): Promise<void> {
  await Promise.resolve()
}

function toAnswer(body: string, status: number): Answer {
  const parsed: unknown = JSON.parse(body)
  return { status, headers: { 'idempotent-replayed': 'true' }, ...(parsed !== null && { body: parsed }) }
}
