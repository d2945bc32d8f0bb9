/** Idempotency-Key: a POST that is sent again gets the answer of the first, for a day. */
import { fault, sha256 } from '@windlass/kit'
import type { App } from '../app.ts'
import type { Actor } from '../identity/actor.ts'
import { finishReply, findReply, insertReply } from '../store/replies.ts'
import type { Tx } from '../store/store.ts'
import type { Answer } from './route.ts'

export interface Repeatable {
  /** The answer of the first call, when there is one. */
  readonly earlier: Answer | undefined
  /** Notes the answer; throws `conflict` when another call with the same key was faster. */
  settle(tx: Tx, answer: Answer): Promise<void>
  /** Notes the answer of a call that did not settle it inside its own transaction. */
  finish(answer: Answer): Promise<void>
  /** Lets the key be used again: the call failed. */
  release(): void
}

const MAX_KEY = 200
const running = new Set<string>()

/**
 * Begins a call with a key. Throws `idempotency-mismatch` when the key was used for another request, `conflict` while the first call is
 * still being carried out.
 */
export async function beginRepeatable(
  app: App,
  actor: Actor,
  request: { key: string; method: string; url: string; body: unknown },
): Promise<Repeatable> {
  const { key } = request
  if (key.length > MAX_KEY || actor.kind === 'nobody')
    throw fault('request-invalid', { message: 'The Idempotency-Key cannot be used here.' })
  const place = { accountId: app.accountId, actorId: actor.id, key }
  const requestHash = sha256(JSON.stringify([request.method, request.url, request.body]))
  const name = JSON.stringify([place, app.dataDir])
  const seal = `${app.accountId}/reply/${actor.id}/${sha256(key)}`
  const stored = await findReply(app.store.query, place)
  if (stored !== undefined && stored.request_hash !== requestHash) throw fault('idempotency-mismatch')
  if (typeof stored?.body === 'string')
    return {
      earlier: toAnswer(app.vault.open(seal, stored.body), stored.status),
      settle: noop,
      finish: noop,
      release: () => undefined,
    }
  if (running.has(name))
    throw fault('conflict', { message: 'The first call with this Idempotency-Key is still being carried out.' })
  running.add(name)
  let isSettled = false
  const settle = async (tx: Tx, answer: Answer): Promise<void> => {
    const body = app.vault.seal(seal, JSON.stringify(answer.body ?? null))
    if (!(await finishReply(tx, place, { status: answer.status, body })))
      throw fault('conflict', { message: 'The first call with this Idempotency-Key was carried out meanwhile.' })
    isSettled = true
  }
  try {
    await app.store.write((tx) => insertReply(tx, { ...place, requestHash, now: app.clock.now() }))
  } catch (error) {
    running.delete(name)
    throw error
  }
  return {
    earlier: undefined,
    settle,
    async finish(answer) {
      if (!isSettled) await app.store.write((tx) => settle(tx, answer))
    },
    release: () => void running.delete(name),
  }
}

async function noop(): Promise<void> {
  await Promise.resolve()
}

function toAnswer(body: string, status: number): Answer {
  const parsed: unknown = JSON.parse(body)
  return { status, headers: { 'idempotent-replayed': 'true' }, ...(parsed !== null && { body: parsed }) }
}
