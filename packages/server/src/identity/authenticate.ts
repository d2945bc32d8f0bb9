/** From the Authorization header to the actor. Tokens are `<24 hex>.<secret>`; only the hash of the secret is stored. */
import { fault, parseToken, tokenMatches } from '@windlass/kit'
import { findAgentById } from '../store/agents.ts'
import { findApiKey } from '../store/api-keys.ts'
import { findAttemptByToken } from '../store/attempts.ts'
import type { Query } from '../store/store.ts'
import type { Actor } from './actor.ts'

interface Known {
  readonly actor: Actor
  readonly hash: string
  readonly readAt: number
}

/** How long another server's revocation may go unnoticed. Milliseconds. */
const REMEMBER_MS = 3000
const MAX_REMEMBERED = 10_000

export interface Authenticator {
  /** `nobody` without a header. Throws `unauthenticated` for anything but a valid token. */
  authenticate(header: string | undefined, now: number): Promise<Actor>
  /** Forgets a revoked credential at once. */
  forget(id: string): void
}

export function openAuthenticator(query: Query): Authenticator {
  const remembered = new Map<string, Known>()

  async function lookUp(id: string, now: number): Promise<Known | undefined> {
    const known = remembered.get(id)
    if (known !== undefined && now - known.readAt < REMEMBER_MS && now >= known.readAt) return known
    const found = await findCredential(query, id)
    if (found === undefined) {
      remembered.delete(id)
      return undefined
    }
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    const fresh = { ...found, readAt: now }
    remembered.set(id, fresh)
    return fresh
  }

  return {
    async authenticate(header, now) {
      if (header === undefined) return { kind: 'nobody' }
      const token = parseToken(/^Bearer +(\S+)$/i.exec(header)?.[1] ?? '')
      const known = token === undefined ? undefined : await lookUp(token.id, now)
      if (token === undefined || known === undefined || !tokenMatches(token.secret, known.hash)) throw fault('unauthenticated')
      return known.actor
    },
    forget: (id) => void remembered.delete(id),
  }
}

async function findCredential(query: Query, id: string): Promise<{ actor: Actor; hash: string } | undefined> {
  const attempt = await findAttemptByToken(query, 'token_id', id)
  if (attempt !== undefined) {
    const { account_id: accountId, build_id: buildId, number, token_hash: hash } = attempt
    return hash === null ? undefined : { actor: { kind: 'attempt', id, accountId, buildId, attempt: number }, hash }
  }
  const agent = await findAgentById(query, id)
  if (agent !== undefined)
    return { actor: { kind: 'agent', id, accountId: agent.account_id, name: agent.name }, hash: agent.hash }
  const key = await findApiKey(query, id)
  if (key !== undefined)
    return { actor: { kind: 'key', id, accountId: key.account_id, name: key.name, role: key.role }, hash: key.hash }
  const bootstrap = await findAttemptByToken(query, 'bootstrap_id', id)
  if (bootstrap === undefined) return undefined
  const { account_id: accountId, build_id: buildId, number, bootstrap_hash: hash } = bootstrap
  return { actor: { kind: 'bootstrap', id, accountId, buildId, attempt: number }, hash }
}
