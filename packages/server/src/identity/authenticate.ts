/** From the Authorization header to the actor. Tokens are `<24 hex>.<secret>`; only the hash of the secret is stored. */
import { fault, parseToken, tokenMatches } from '@windlass/kit'
import { findAgentById } from '../store/agents.ts'
import { findApiKey } from '../store/api-keys.ts'
import { findAttemptByToken } from '../store/attempts.ts'
import type { Query } from '../store/store.ts'
import { findPairByBootstrap } from '../store/warm-pairs.ts'
import { PAIR_ATTEMPT } from '../warm/pairs.ts'
import { findBuildToken } from './build-token.ts'
import { readScopes } from './keys.ts'
import type { Vault } from '../secrets/vault.ts'
import type { Actor, Permission } from './actor.ts'

interface Known {
  readonly actor: Actor
  readonly hash: string
  readonly readAt: number
}

/** How long another server's revocation may go unnoticed. Milliseconds. */
const REMEMBER_MS = 3000
const MAX_REMEMBERED = 10_000

export interface Authenticator {
  /** `nobody` without a header. Public clients send the bare token, without a scheme. Throws `unauthenticated` for anything but a valid token. `expected` is looked for first. */
  authenticate(header: string | undefined, now: number, expected?: Permission): Promise<Actor>
  /** Forgets a revoked credential at once. */
  forget(id: string): void
}

export function openAuthenticator(query: Query, vault: Pick<Vault, 'derive'>): Authenticator {
  const remembered = new Map<string, Known>()

  async function lookUp(id: string, now: number, expected: Permission): Promise<Known | undefined> {
    const known = remembered.get(id)
    if (known !== undefined && now - known.readAt < REMEMBER_MS && now >= known.readAt) return known
    const found = (await findCredential(query, id, expected)) ?? (await findBuildToken(query, vault, id))
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
    async authenticate(header, now, expected = 'public') {
      if (header === undefined) return { kind: 'nobody' }
      const token = parseToken(/^(?:Bearer +)?(\S+)$/i.exec(header)?.[1] ?? '')
      const known = token === undefined ? undefined : await lookUp(token.id, now, expected)
      if (token === undefined || known === undefined || !tokenMatches(token.secret, known.hash)) throw fault('unauthenticated')
      return known.actor
    },
    forget: (id) => void remembered.delete(id),
  }
}

interface Credential {
  readonly actor: Actor
  readonly hash: string
}

type Finder = (query: Query, id: string) => Promise<Credential | undefined>

const FINDERS: Readonly<Record<Exclude<Actor['kind'], 'nobody' | 'build'>, Finder>> = {
  async attempt(query, id) {
    const row = await findAttemptByToken(query, 'token_id', id)
    if (row === undefined || row.token_hash === null) return undefined
    const { account_id: accountId, build_id: buildId, number, token_hash: hash } = row
    return { actor: { kind: 'attempt', id, accountId, buildId, attempt: number }, hash }
  },
  async agent(query, id) {
    const row = await findAgentById(query, id)
    return row && { actor: { kind: 'agent', id, accountId: row.account_id, name: row.name }, hash: row.hash }
  },
  async key(query, id) {
    const row = await findApiKey(query, id)
    if (row === undefined) return undefined
    const { account_id: accountId, name, role, hash } = row
    return { actor: { kind: 'key', id, accountId, name, role, scopes: readScopes(row) }, hash }
  },
  async bootstrap(query, id) {
    const row = await findAttemptByToken(query, 'bootstrap_id', id)
    if (row === undefined) return pairCredential(query, id)
    const { account_id: accountId, build_id: buildId, number, bootstrap_hash: hash } = row
    return { actor: { kind: 'bootstrap', id, accountId, buildId, attempt: number }, hash }
  },
}

/** The engine of a warm pair, which goes by the pair's id until it is given a build. */
async function pairCredential(query: Query, id: string): Promise<Credential | undefined> {
  const pair = await findPairByBootstrap(query, id)
  if (pair === undefined) return undefined
  const actor = { kind: 'bootstrap', id, accountId: pair.account_id, buildId: pair.id, attempt: PAIR_ATTEMPT } as const
  return { actor, hash: pair.bootstrap_hash }
}

/** Of whichever kind: the caller learns that it is the wrong one. */
async function findCredential(query: Query, id: string, expected: Permission): Promise<Credential | undefined> {
  const first = expected === 'attempt' || expected === 'agent' || expected === 'bootstrap' ? expected : 'key'
  const found = await FINDERS[first](query, id)
  if (found !== undefined) return found
  for (const [kind, find] of Object.entries(FINDERS)) {
    const other = kind === first ? undefined : await find(query, id)
    if (other !== undefined) return other
  }
  return undefined
}
