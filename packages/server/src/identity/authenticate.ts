/** Resolves the Authorization header to an actor. Tokens are `<24 hex>.<secret>`; only the hash of the secret is stored. */
import { fault, parseToken, tokenMatches } from '@windlass/kit'
import { findAgentById } from '../store/runtimes/agents.ts'
import { findGitopsToken } from '../store/runtimes/gitops.ts'
import { findApiKey } from '../store/access/api-keys.ts'
import { findAttemptByToken, isLiveAttempt } from '../store/builds/attempts.ts'
import type { Query } from '../store/store.ts'
import { findPairByBootstrap } from '../store/runtimes/warm-pairs.ts'
import { PAIR_ATTEMPT } from '../warm/pairs.ts'
import { findBuildToken } from './keys/build-token.ts'
import { keyActor } from './keys/key-actor.ts'
import type { Vault } from '../secrets/vault.ts'
import type { Actor, Permission } from './actor.ts'

interface Credential {
  readonly actor: Actor
  readonly hash: string
  /** True if the attempt of the credential has ended. */
  readonly isOver?: boolean
  /** The credential is refused from then on. */
  readonly expiresAt?: number | undefined
}

/** The parts of a token. */
interface Secret {
  readonly id: string
  readonly secret: string
}

interface Remembered extends Credential {
  readonly readAt: number
}

/** How long a revocation on another server may go unnoticed. Milliseconds. */
const REMEMBER_MS = 3000
const MAX_REMEMBERED = 10_000

export interface Authenticator {
  /**
   * Returns the actor of a token, or `nobody` without a header. Public clients send the bare token, without a scheme. Throws `unauthenticated`
   * for an invalid or expired token and for a key whose owner is disabled, and `attempt-stale` for a credential of an attempt that has ended, except its token if `any-attempt` is expected.
   * The kind that `expected` implies is looked up first.
   */
  authenticate(header: string | undefined, now: number, expected?: Permission): Promise<Actor>
  /** Removes a revoked credential from the cache. */
  forget(id: string): void
}

/**
 * Caches keys and agents for a few seconds. Does not cache credentials of attempts: they expire when the attempt ends, which must take effect immediately.
 * `noteKeyUse` is called before the first call with each API key, `noteEachUse` before each.
 */
export function openAuthenticator(
  query: Query,
  vault: Pick<Vault, 'derive'>,
  noteKeyUse: (id: string) => Promise<void> = () => Promise.resolve(),
  noteEachUse: (id: string) => void = () => undefined,
): Authenticator {
  const remembered = new Map<string, Remembered>()
  const used = new Set<string>()

  async function noteUse(actor: Actor): Promise<void> {
    if (actor.kind !== 'key') return
    noteEachUse(actor.id)
    if (used.has(actor.id)) return
    await noteKeyUse(actor.id)
    if (used.size >= MAX_REMEMBERED) used.clear()
    used.add(actor.id)
  }

  async function lookUp({ id, secret }: Secret, now: number, expected: Permission): Promise<Credential | undefined> {
    const known = remembered.get(id)
    // A token that does not match may be the successor of the remembered one.
    if (known !== undefined && now - known.readAt < REMEMBER_MS && now >= known.readAt && tokenMatches(secret, known.hash))
      return known
    remembered.delete(id)
    const found = (await findCredential(query, id, expected)) ?? (await findBuildToken(query, vault, id))
    if (found === undefined || !REMEMBERED.has(found.actor.kind)) return found
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(id, { ...found, readAt: now })
    return found
  }

  return {
    async authenticate(header, now, expected = 'public') {
      if (header === undefined) return { kind: 'nobody' }
      const token = parseToken(/^(?:Bearer +)?(\S+)$/i.exec(header)?.[1] ?? '')
      const known = token === undefined ? undefined : await lookUp(token, now, expected)
      if (token === undefined || known === undefined || !tokenMatches(token.secret, known.hash)) throw fault('unauthenticated')
      if (known.expiresAt !== undefined && now >= known.expiresAt) throw fault('unauthenticated', EXPIRED)
      const mayBeOver = expected === 'any-attempt' && known.actor.kind === 'attempt'
      if (known.isOver === true && !mayBeOver)
        throw fault('attempt-stale', { message: 'The attempt that this credential belongs to has ended.' })
      await noteUse(known.actor)
      return known.actor
    },
    forget: (id) => void remembered.delete(id),
  }
}

const EXPIRED = { message: 'The API key has expired.', hint: 'Log in again with `windlass login`, or use another API key.' }

const REMEMBERED: ReadonlySet<Actor['kind']> = new Set(['key', 'agent'])

type Finder = (query: Query, id: string) => Promise<Credential | undefined>

const FINDERS: Readonly<Record<Exclude<Actor['kind'], 'nobody' | 'build'>, Finder>> = {
  async attempt(query, id) {
    const row = await findAttemptByToken(query, 'token_id', id)
    if (row === undefined || row.token_hash === null) return undefined
    const { account_id: accountId, build_id: buildId, number, token_hash: hash, status } = row
    return { actor: { kind: 'attempt', id, accountId, buildId, attempt: number }, hash, isOver: !isLiveAttempt(status) }
  },
  async agent(query, id) {
    const row = await findAgentById(query, id)
    return row && { actor: { kind: 'agent', id, accountId: row.account_id, name: row.name }, hash: row.hash }
  },
  async 'gitops-runtime'(query, id) {
    const row = await findGitopsToken(query, id)
    if (row === undefined) return undefined
    const { account_id: accountId, runtime_id: runtimeId, runtime: name, hash } = row
    return { actor: { kind: 'gitops-runtime', id, accountId, runtimeId, name }, hash }
  },
  async key(query, id) {
    const row = await findApiKey(query, id)
    const actor = row === undefined ? undefined : await keyActor(query, row)
    return row && actor && { actor, hash: row.hash, expiresAt: actor.expiresAt }
  },
  async bootstrap(query, id) {
    const row = await findAttemptByToken(query, 'bootstrap_id', id)
    if (row === undefined) return pairCredential(query, id)
    const { account_id: accountId, build_id: buildId, number, bootstrap_hash: hash, status } = row
    return { actor: { kind: 'bootstrap', id, accountId, buildId, attempt: number }, hash, isOver: !isLiveAttempt(status) }
  },
}

/** Finds the engine of a warm pair. It uses the id of the pair as its build id until it gets a build. */
async function pairCredential(query: Query, id: string): Promise<Credential | undefined> {
  const pair = await findPairByBootstrap(query, id)
  if (pair === undefined) return undefined
  const actor = { kind: 'bootstrap', id, accountId: pair.account_id, buildId: pair.id, attempt: PAIR_ATTEMPT } as const
  return { actor, hash: pair.bootstrap_hash, isOver: pair.status === 'stopping' || pair.status === 'gone' }
}

/** Finds a credential of any kind, so that a caller with the wrong kind gets a precise error. */
async function findCredential(query: Query, id: string, expected: Permission): Promise<Credential | undefined> {
  const isOfAttempt = expected === 'attempt' || expected === 'any-attempt'
  const isOwnKind = expected === 'agent' || expected === 'gitops-runtime' || expected === 'bootstrap'
  const first = isOfAttempt ? 'attempt' : isOwnKind ? expected : 'key'
  const found = await FINDERS[first](query, id)
  if (found !== undefined) return found
  for (const [kind, find] of Object.entries(FINDERS)) {
    const other = kind === first ? undefined : await find(query, id)
    if (other !== undefined) return other
  }
  return undefined
}
