/**
 * Idempotency-Key: a repeated POST gets the response of the first one, for a day. Only calls that store their response with their effect leave a row, so
 * that calls without an effect cannot fill the database.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { fault, sha256 } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { z } from 'zod'
import type { App } from '../app.ts'
import { replyPlace } from '../secrets/places.ts'
import type { Vault } from '../secrets/vault.ts'
import { findReply, storeReply, type ReplyKey } from '../store/account/replies.ts'
import type { ReplyRow } from '../store/schema/schema.ts'
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
  const digest = sha256(JSON.stringify([request.method, request.url, request.body]))
  const name = JSON.stringify([id, app.dataDir])
  const find = async (): Promise<StoredReply | undefined> => openReply(app.vault, id, await findReply(app.store.query, id))
  let stored = await find()
  for (let first = running.get(name); first !== undefined; first = running.get(name)) {
    await first
    stored = await find()
  }
  if (stored !== undefined && stored.digest !== digest) throw fault('idempotency-mismatch')
  const earlier = stored?.answer
  if (earlier !== undefined) return { earlier, settle: noop, recover: async () => earlier, release: () => undefined }
  const ended = Promise.withResolvers<void>()
  running.set(name, ended.promise)
  return {
    earlier: undefined,
    async settle(tx, answer) {
      const sealer = await app.vault.sealer(tx)
      const body = sealer.seal(replyPlace(id), JSON.stringify({ digest, body: answer.body ?? null }))
      if (await storeReply(tx, { ...id, requestHash: SEALED, status: answer.status, body, now: app.clock.now() })) return
      throw fault('unavailable', {
        message: 'Another call with this Idempotency-Key has finished in the meantime.',
        hint: 'Repeat the call with the same key to get its answer.',
      })
    },
    async recover(error) {
      const reply = await find().catch(() => undefined)
      // Another server may have taken the key for another request in the same moment.
      const answer = reply?.digest === digest ? reply.answer : undefined
      if (answer === undefined) throw error
      return answer
    },
    release() {
      running.delete(name)
      ended.resolve()
    },
  }
}

/** Stored instead of the digest of the request, which is sealed with the response. Secrets in the request could be guessed from a digest that is not. */
const SEALED = 'sealed'

interface StoredReply {
  /** Digest of the request. */
  readonly digest: string
  readonly answer: Answer | undefined
}

/** Opens a stored response. Earlier versions stored the digest beside it, and a row without a response when a call started. */
function openReply(vault: Vault, id: ReplyKey, row: ReplyRow | undefined): StoredReply | undefined {
  if (row === undefined) return undefined
  const { request_hash: digest, body, status } = row
  if (typeof body !== 'string') return { digest, answer: undefined }
  const parsed: unknown = JSON.parse(vault.open(replyPlace(id), body))
  if (digest !== SEALED) return { digest, answer: toAnswer(parsed, status) }
  const sealed = Sealed.parse(parsed)
  return { digest: sealed.digest, answer: toAnswer(sealed.body, status) }
}

const Sealed = z.object({ digest: z.string(), body: z.unknown() })

async function noop(): Promise<void> {
  await Promise.resolve()
}

function toAnswer(body: unknown, status: number): Answer {
  const headers = { 'idempotent-replayed': 'true', 'cache-control': 'no-store' }
  return { status, headers, ...(body !== null && { body }) }
}
