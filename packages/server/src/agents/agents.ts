/** Management of agents. */
import { defined, fault, newToken, parseToken, sha256, tokenMatches } from '@windlass/kit'
import type { Agent, AgentInput, AgentPatch } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { noteSubject } from '../audit/call.ts'
import { ELECT_TOPIC } from '../builds/lifecycle/edit.ts'
import { abandonAttempts } from '../builds/lifecycle/ends/confirm-gone.ts'
import { present } from '../builds/lifecycle/view.ts'
import {
  deleteAgent,
  findAgent,
  findAgentById,
  insertAgent,
  isOnline,
  listAgents,
  renameAgent,
  updateAgent,
} from '../store/runtimes/agents.ts'
import { detachRuntimes } from '../runtimes/detach-runtimes.ts'
import type { AgentRow } from '../store/schema/schema.ts'
import { endPairsOf } from '../store/runtimes/warm-pairs.ts'
import type { Query, Tx, Within } from '../store/store.ts'
import { engineUrlOfAgent } from '../tasks/engine-url.ts'
import { runtimesOf } from '../tasks/hello.ts'

type NewAgent = z.output<typeof AgentInput>
type Created = Agent & { token: string }

/** Time without a call after which an agent is shown as unhealthy. Milliseconds. */
const HEALTHY_MS = 60_000

/**
 * Registers an agent. Its token is returned only here. The input may contain the token of an earlier agent, which then keeps its id and token. Throws
 * `conflict` for a name in use, and if an agent with this id has another name or token. `within` runs in the same transaction before the name is
 * checked, so that a repeated call finds its own answer and not a conflict with itself.
 */
export async function createAgent(app: App, input: NewAgent, within?: Within<Created>): Promise<Created> {
  const token = tokenOf(app, input)
  return app.store.write(async (tx) => {
    const known = await findAgentById(tx.query, token.id)
    const row =
      known === undefined
        ? newAgent(app, { id: token.id, hash: sha256(token.secret), input })
        : await restore(tx, known, { input, secret: token.secret })
    const created = { ...(await showAgent(app, row, tx.query)), token: token.text }
    await within?.(tx, created)
    noteSubject(`agent ${input.name}${input.runtimes.length === 0 ? '' : ` of ${input.runtimes.join(', ')}`}`)
    if (known === undefined) {
      await requireFreeName(tx, app, input.name)
      await insertAgent(tx, row)
    }
    tx.wake(ELECT_TOPIC)
    return created
  })
}

interface AgentToken {
  readonly id: string
  readonly secret: string
  readonly text: string
}

function tokenOf(app: App, { token }: NewAgent): AgentToken {
  const text = token ?? newToken(app.clock.now()).text
  const parsed = parseToken(text)
  if (parsed === undefined)
    throw fault('request-invalid', {
      message: 'The token is not a valid agent token.',
      hint: 'Send the whole token of the agent, or none to get a new one.',
    })
  return { ...parsed, text }
}

/** Adds runtimes to an agent that already exists, if the token matches. */
async function restore(tx: Tx, known: AgentRow, { input, secret }: { input: NewAgent; secret: string }): Promise<AgentRow> {
  if (!tokenMatches(secret, known.hash) || known.name !== input.name)
    throw fault('conflict', {
      message: 'An agent with the id of this token already exists under another name or with another token.',
      hint: 'Use the name and the token of that agent, or create a new agent.',
    })
  const runtimes = JSON.stringify([...new Set([...namesIn(known.runtimes), ...input.runtimes])])
  await updateAgent(tx, known.id, { runtimes })
  return { ...known, runtimes }
}

function namesIn(runtimes: string): string[] {
  const names: unknown = JSON.parse(runtimes)
  return Array.isArray(names) ? names.map(String) : []
}

async function requireFreeName(tx: Tx, app: App, name: string): Promise<void> {
  if ((await findAgent(tx.query, app.accountId, name)) !== undefined)
    throw fault('conflict', { message: `Agent "${name}" already exists.`, hint: 'Use another name.' })
}

function newAgent(app: App, { id, hash, input }: { id: string; hash: string; input: NewAgent }): AgentRow {
  return {
    id,
    account_id: app.accountId,
    name: input.name,
    hash,
    runtimes: JSON.stringify(input.runtimes),
    executor: null,
    version: null,
    epoch: 0,
    instance: null,
    fact_seq: 0,
    protocol: null,
    message: null,
    server_url: null,
    features: null,
    disk_seq: 0,
    disks_at: null,
    disks_hidden: 0,
    disks_failed: null,
    last_seen_at: null,
    heard_since: null,
    created_at: app.clock.now(),
  }
}

/**
 * Changes the given fields. Runtimes that name the agent get the new name; those that the agent does not serve any more name no agent. `by` is the name of
 * the caller. Throws `not-found`, `conflict` for a name in use.
 */
export async function changeAgent(app: App, name: string, patch: AgentPatch, by: string): Promise<Agent> {
  const row = await app.store.write(async (tx) => {
    const before = await requireAgent(tx, app, name)
    const runtimes = await changedRuntimes(tx, before, patch)
    const changes: Partial<AgentRow> = {
      ...defined({ name: patch.name }),
      ...(runtimes !== undefined && { runtimes: JSON.stringify(runtimes.own) }),
    }
    if (runtimes !== undefined) await detachRuntimes(tx, before, { kept: runtimes.kept, by, now: app.clock.now() })
    if (patch.name !== undefined && patch.name !== before.name) {
      await requireFreeName(tx, app, patch.name)
      await renameAgent(tx, before, patch.name)
    }
    if (Object.keys(changes).length > 0) await updateAgent(tx, before.id, changes)
    tx.wake(ELECT_TOPIC)
    return { ...before, ...changes }
  })
  return showAgent(app, row)
}

interface ChangedRuntimes {
  /** The new list of the agent. */
  readonly own: readonly string[]
  /** Runtimes that keep naming the agent. */
  readonly kept: readonly string[]
}

/** Returns the runtimes of an agent after a change; undefined if it changes none. Single ones are added to and removed from those that it has now. */
async function changedRuntimes(tx: Tx, agent: AgentRow, patch: AgentPatch): Promise<ChangedRuntimes | undefined> {
  const { runtimes, addRuntimes = [], removeRuntimes = [] } = patch
  if (runtimes !== undefined) return { own: runtimes, kept: runtimes }
  if (addRuntimes.length + removeRuntimes.length === 0) return undefined
  const isKept = (name: string): boolean => !removeRuntimes.includes(name)
  const own = [...new Set([...namesIn(agent.runtimes).filter(isKept), ...addRuntimes])]
  return { own, kept: (await runtimesOf(tx.query, agent)).filter(isKept) }
}

async function requireAgent(tx: Tx, app: App, name: string): Promise<AgentRow> {
  const row = await findAgent(tx.query, app.accountId, name)
  if (row === undefined) throw fault('not-found', { message: `Agent "${name}" does not exist.` })
  return row
}

/** Gives an agent a new secret. Its id stays, and its previous token is revoked. `within` runs in the same transaction. Throws `not-found`. */
export async function rotateToken(app: App, name: string, within?: Within<Created>): Promise<Created> {
  const { secret } = tokenOf(app, { name, runtimes: [] })
  return app.store.write(async (tx) => {
    const before = await requireAgent(tx, app, name)
    const changes = { hash: sha256(secret) }
    await updateAgent(tx, before.id, changes)
    const agent = await showAgent(app, { ...before, ...changes }, tx.query)
    const renewed = { ...agent, token: `${before.id}.${secret}` }
    await within?.(tx, renewed)
    return renewed
  })
}

/**
 * Deletes an agent and revokes its token at once. Returns its id. With `force` its cluster is treated as permanently gone: its attempts are marked as
 * lost and gone, and their builds run again elsewhere. Throws `not-found`.
 */
export async function removeAgent(
  app: App,
  name: string,
  { force = false, by }: { force?: boolean | undefined; by: string },
): Promise<string> {
  return app.store.write(async (tx) => {
    const row = await requireAgent(tx, app, name)
    if (force) {
      await abandonAttempts(app, tx, { agentId: row.id, by, loses: `The agent ${row.name} was removed with force.` })
      await endPairsOf(tx, row.id, app.clock.now())
    }
    await deleteAgent(tx, row.id)
    tx.wake(ELECT_TOPIC)
    return row.id
  })
}

export async function showAgent(app: App, row: AgentRow, query: Query = app.store.query): Promise<Agent> {
  const status =
    row.last_seen_at === null ? 'never-seen' : isOnline(row, app.clock.now(), app.timings.agentLeaseMs) ? 'online' : 'offline'
  return {
    id: row.id,
    name: row.name,
    accountId: row.account_id,
    runtimes: await runtimesOf(query, row),
    status,
    createdAt: row.created_at,
    ...present({
      executor: row.executor,
      version: row.version,
      lastSeenAt: row.last_seen_at,
      protocol: row.protocol,
      message: row.message,
      serverUrl: engineUrlOfAgent(app, row),
      health: healthOf(app, row),
    }),
  }
}

function healthOf(app: App, row: AgentRow): Agent['health'] | null {
  if (row.last_seen_at === null) return null
  return isOnline(row, app.clock.now(), HEALTHY_MS) ? 'healthy' : 'unhealthy'
}

export async function listShownAgents(app: App): Promise<Agent[]> {
  return Promise.all((await listAgents(app.store.query, app.accountId)).map((row) => showAgent(app, row)))
}
