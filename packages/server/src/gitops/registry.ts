/**
 * The registry of tunnels in the database. The row of a runtime has its last connection, and only the server that has this connection changes it. What ends a
 * connection is a fact of the database (another connection, no token, no runtime), so a wake-up that is lost delays the end until the next heartbeat.
 */
import { defined, fault } from '@windlass/kit'
import type { Tunnel, TunnelStatus } from '@windlass/protocol'
import type {
  AcceptedRuntime,
  Hello,
  LinkTimings,
  Session,
  SessionEnd,
  TunnelRegistry,
  TunnelRoute,
} from '@windlass/tunnel/server'
import type { App } from '../app.ts'
import { noteSubject } from '../audit/call.ts'
import {
  findGitopsRuntime,
  findGitopsToken,
  findTunnel,
  listTunnels,
  lockGitopsRuntime,
  saveTunnel,
  updateTunnel,
  type RuntimeTunnel,
} from '../store/runtimes/gitops.ts'
import type { TunnelRow } from '../store/schema/schema.ts'
import type { Query, Tx } from '../store/store.ts'
import { findRuntimeToken, lockRuntime, prefixOf, tunnelTopic, unknownRuntime } from './runtimes.ts'

/** Heartbeats of a client after which it is late. */
const LATE = 2
/** Time in which a connection is welcomed. Milliseconds. */
const CONNECTING_MS = 10_000

export interface RegistryOptions {
  /** Id of this server. */
  readonly server: string
  /** Where other servers reach this one. */
  readonly serverUrl: string | undefined
  /** `reject`: a second client is refused while the first one answers. `replace`: the newest client wins. */
  readonly secondClient: 'reject' | 'replace'
  readonly timings: LinkTimings
}

export function openRegistry(app: App, options: RegistryOptions): TunnelRegistry {
  const { store, clock, accountId } = app
  /** Connections of this server by id. Each of them ends with this process. */
  const claims = new Map<string, Claimed>()
  return {
    authenticate: (hello) => authenticate(app, hello),
    async claim(session) {
      claims.set(session.id, await store.write((tx) => claim(app, tx, { session, options })))
    },
    async beat(session) {
      const claimed = claims.get(session.id)
      const end = await store.write(async (tx) => {
        const change = { state: 'online', seen_at: clock.now() } as const
        const isFirst = await updateTunnel(tx, { ...keyOf(session), state: 'connecting' }, change)
        // The connection before it, at whatever server it is, can end now.
        if (isFirst) tx.wake(tunnelTopic(session.runtimeId))
        // A release may have come first.
        else if (!(await updateTunnel(tx, { ...keyOf(session), state: 'online' }, change)) && claimed !== undefined)
          await takePlace(app, tx, { session, options, claimed })
        return findEnd(app, tx.query, { session, isWaiting: false })
      })
      if (claimed?.isWaiting === true && claims.get(session.id) === claimed)
        claims.set(session.id, { ...claimed, isWaiting: false })
      return end
    },
    check: (session) => findEnd(app, store.query, { session, isWaiting: claims.get(session.id)?.isWaiting === true }),
    async release(session) {
      claims.delete(session.id)
      await store.write(async (tx) => {
        const isHeld = await updateTunnel(tx, keyOf(session), { state: 'offline', seen_at: clock.now() })
        if (isHeld) tx.wake(tunnelTopic(session.runtimeId))
      })
    },
    async connected({ runtimeId }) {
      const tunnel = await findTunnel(store.query, runtimeId)
      const answers = tunnel?.state === 'online' && clock.now() - tunnel.seen_at < LATE * options.timings.heartbeatMs
      return answers ? { address: tunnel.address, version: tunnel.client_version } : undefined
    },
    async find(prefix): Promise<TunnelRoute | undefined> {
      const start = prefixOf(app, '')
      const name = prefix.startsWith(start) ? prefix.slice(start.length) : ''
      const runtime = name === '' ? undefined : await findGitopsRuntime(store.query, accountId, name)
      if (runtime === undefined) return undefined
      const tunnel = await findTunnel(store.query, runtime.id)
      const isElsewhere =
        tunnel !== undefined &&
        tunnel.server !== options.server &&
        tunnel.state !== 'offline' &&
        clock.now() - tunnel.seen_at < options.timings.deadMs
      return isElsewhere ? defined({ peer: tunnel.server_url ?? undefined }) : {}
    },
  }
}

function keyOf({ runtimeId, id }: Session): { readonly runtimeId: string; readonly session: string } {
  return { runtimeId, session: id }
}

/** A token of a runtime is of no use for another one, so that a cluster cannot take calls of others. */
async function authenticate(app: App, hello: Hello): Promise<AcceptedRuntime> {
  const known = await findRuntimeToken(app, hello.token)
  if (known === undefined)
    throw fault('unauthenticated', {
      message: 'The token of the tunnel client is not valid.',
      hint: 'Create one with `windlass gitops token create RUNTIME`, and replace the Secret of the client.',
    })
  if (known.runtime !== hello.runtime)
    throw fault('forbidden', {
      message: `The token is not one of the GitOps runtime "${hello.runtime}".`,
      hint: `Create one with \`windlass gitops token create ${hello.runtime}\`.`,
    })
  return { runtimeId: known.runtime_id, runtime: known.runtime, prefix: prefixOf(app, known.runtime), tokenId: known.id }
}

interface Claim {
  readonly session: Session
  readonly options: RegistryOptions
}

/** A connection that was let in. */
interface Claimed {
  /** What is written when the connection takes the place. */
  readonly row: TunnelRow
  /** True while an earlier connection works and has the place, until the first beat of this one. */
  readonly isWaiting: boolean
}

async function claim(app: App, tx: Tx, { session, options }: Claim): Promise<Claimed> {
  const now = app.clock.now()
  // Two clients at two servers claim one after the other.
  const runtime = await lockGitopsRuntime(tx, app.accountId, session.runtime)
  const token = await findGitopsToken(tx.query, session.tokenId)
  if (runtime?.id !== session.runtimeId || token === undefined) throw fault('unauthenticated')
  const before = await findTunnel(tx.query, runtime.id)
  const lateMs = LATE * options.timings.heartbeatMs
  if (before !== undefined && isTaken(before, { session, options }, now))
    throw fault('tunnel-taken', {
      message: `Another client of the GitOps runtime "${runtime.name}" is connected, from ${before.address}.`,
      retryAfter: Math.ceil((before.seen_at + lateMs - now) / 1000),
    })
  const row: TunnelRow = {
    runtime_id: runtime.id,
    account_id: app.accountId,
    session: session.id,
    token_id: session.tokenId,
    client: session.clientId,
    client_version: session.clientVersion,
    address: session.address,
    server: options.server,
    server_url: options.serverUrl ?? null,
    state: 'connecting',
    connected_at: now,
    seen_at: now,
  }
  // A connection that works keeps its place until this one works too: it may fail before.
  if (before?.state === 'online' && now - before.seen_at < lateMs) return { row, isWaiting: true }
  await saveTunnel(tx, row)
  tx.wake(tunnelTopic(runtime.id))
  return { row, isWaiting: false }
}

/** True if a tunnel belongs to another client that answers, and must not be taken from it. */
function isTaken({ state, client, seen_at: seenAt }: TunnelRow, { session, options }: Claim, now: number): boolean {
  const isOther = state !== 'offline' && client !== session.clientId
  return isOther && options.secondClient === 'reject' && now - seenAt < LATE * options.timings.heartbeatMs
}

/**
 * Gives the place to a connection that works and does not have it: to one that waited for its first beat, and to an earlier one whose successor has failed. Does
 * nothing if it may not have it.
 */
async function takePlace(app: App, tx: Tx, { claimed, ...claim }: Claim & { readonly claimed: Claimed }): Promise<void> {
  const { session } = claim
  const now = app.clock.now()
  const runtime = await lockGitopsRuntime(tx, app.accountId, session.runtime)
  const token = await findGitopsToken(tx.query, session.tokenId)
  if (runtime?.id !== session.runtimeId || token === undefined) return
  const held = await findTunnel(tx.query, runtime.id)
  // It was released, or disconnected by hand.
  if (held === undefined || held.session === session.id || held.session === '') return
  if (claimed.isWaiting ? isTaken(held, claim, now) : !hasFailed(held, now)) return
  await saveTunnel(tx, { ...claimed.row, state: 'online', seen_at: now })
  tx.wake(tunnelTopic(runtime.id))
}

/** True if the connection of a tunnel has ended, or was not welcomed in time, as when its server has crashed. */
function hasFailed({ state, seen_at: seenAt }: TunnelRow, now: number): boolean {
  return state === 'offline' || (state === 'connecting' && now - seenAt >= CONNECTING_MS)
}

interface Asking {
  readonly session: Session
  /** See `Claimed`. */
  readonly isWaiting: boolean
}

/** Returns why a session has to end. */
async function findEnd(app: App, query: Query, { session, isWaiting }: Asking): Promise<SessionEnd | undefined> {
  const runtime = await findGitopsRuntime(query, app.accountId, session.runtime)
  if (runtime?.id !== session.runtimeId) return { reason: 'removed' }
  if ((await findGitopsToken(query, session.tokenId)) === undefined) return { reason: 'revoked' }
  const held = await findTunnel(query, runtime.id)
  if (held?.session === session.id) return undefined
  if (held === undefined || held.session === '') return { reason: 'disconnected' }
  // Only a later connection that works ends this one. If it fails, this one takes the place again with its next beat.
  if (isWaiting || held.state !== 'online') return undefined
  return { reason: 'replaced', isOwn: held.client === session.clientId }
}

/** Ends the connection of a runtime, at whatever server it is. Throws `not-found`. */
export async function disconnectTunnel(app: App, name: string): Promise<Tunnel> {
  await app.store.write(async (tx) => {
    const runtime = await lockRuntime(app, tx, name)
    const tunnel = await findTunnel(tx.query, runtime.id)
    if (tunnel === undefined || tunnel.session === '') return
    await saveTunnel(tx, { ...tunnel, session: '', state: 'offline', seen_at: app.clock.now() })
    tx.wake(tunnelTopic(runtime.id))
    noteSubject(`tunnel of GitOps runtime ${name}`)
  })
  return showTunnel(app, name)
}

/** Lists the tunnels of all runtimes by name. */
export async function listShownTunnels(app: App): Promise<Tunnel[]> {
  return (await listTunnels(app.store.query, app.accountId)).map((row) => toTunnel(app, row))
}

/** Returns the tunnel of a runtime. Throws `not-found`. */
export async function showTunnel(app: App, name: string): Promise<Tunnel> {
  const [found] = await listTunnels(app.store.query, app.accountId, name)
  return found === undefined ? unknownRuntime(name) : toTunnel(app, found)
}

function toTunnel(app: App, { tunnel, ...runtime }: RuntimeTunnel): Tunnel {
  const { id, name, created_by: createdBy, created_at: createdAt } = runtime
  const url = app.tunnels?.urlOf(prefixOf(app, name))
  const shown = { id, runtime: name, createdBy, createdAt, ...defined({ url }) }
  if (tunnel === undefined) return { ...shown, status: 'offline' }
  const { client_version: clientVersion, address, server, token_id: token } = tunnel
  const times = { connectedAt: tunnel.connected_at, seenAt: tunnel.seen_at }
  return { ...shown, status: statusOf(app, tunnel), clientVersion, address, server, token, ...times }
}

/** A server that has crashed leaves the state that it wrote last, so the time of the last answer decides too. */
function statusOf({ clock, tunnels }: App, { state, seen_at: seenAt }: TunnelRow): TunnelStatus {
  const { heartbeatMs, deadMs } = tunnels?.timings ?? TUNNEL_TIMINGS
  const silentMs = clock.now() - seenAt
  if (state === 'offline' || silentMs >= deadMs) return 'offline'
  return silentMs >= LATE * heartbeatMs ? 'stale' : state
}

/** Of servers without tunnels, which show those of others. */
const TUNNEL_TIMINGS = { heartbeatMs: 15_000, deadMs: 45_000 } as const
