/** Agents as users manage them. */
import { fault, newToken, parseToken, sha256, tokenMatches } from '@windlass/kit'
import type { Agent, AgentInput, AgentPatch } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { ELECT_TOPIC } from '../builds/edit.ts'
import { present } from '../builds/view.ts'
import {
  deleteAgent,
  findAgent,
  findAgentById,
  insertAgent,
  isOnline,
  listAgents,
  renameAgent,
  updateAgent,
} from '../store/agents.ts'
import type { AgentRow } from '../store/schema.ts'
import type { Tx } from '../store/store.ts'
import { runtimesOf } from '../tasks/hello.ts'

type NewAgent = z.output<typeof AgentInput>
type Created = Agent & { token: string }

/** Not heard of for longer than this, an agent is shown as unhealthy (runner specification 2.12). Milliseconds. */
const HEALTHY_MS = 60_000

/**
 * Registers an agent; its token is answered once. With the token of an agent that was deleted that agent comes back: same id, same token. Throws
 * `conflict` for a name in use, and for the id of an agent that has another token.
 */
export async function createAgent(app: App, input: NewAgent): Promise<Created> {
  const token = tokenOf(app, input)
  const row = await app.store.write(async (tx) => {
    const known = await findAgentById(tx.query, token.id)
    if (known !== undefined) return restore(tx, known, { input, secret: token.secret })
    await requireFreeName(tx, app, input.name)
    const fresh = newAgent(app, { id: token.id, hash: sha256(token.secret), input })
    await insertAgent(tx, fresh)
    tx.wake(ELECT_TOPIC)
    return fresh
  })
  return { ...(await showAgent(app, row)), token: token.text }
}

interface GivenToken {
  readonly id: string
  readonly secret: string
  readonly text: string
}

function tokenOf(app: App, { token }: NewAgent): GivenToken {
  const text = token ?? newToken(app.clock.now()).text
  const parsed = parseToken(text)
  if (parsed === undefined) throw fault('request-invalid', { message: 'This is not the token of an agent.' })
  return { ...parsed, text }
}

/** The agent is there: its own token proves that it is meant. */
async function restore(tx: Tx, known: AgentRow, { input, secret }: { input: NewAgent; secret: string }): Promise<AgentRow> {
  if (!tokenMatches(secret, known.hash) || known.name !== input.name)
    throw fault('conflict', { message: 'There is an agent with the id of this token, under another name or with another token.' })
  const runtimes = JSON.stringify([...new Set([...namesIn(known.runtimes), ...input.runtimes])])
  await updateAgent(tx, known.id, { runtimes })
  tx.wake(ELECT_TOPIC)
  return { ...known, runtimes }
}

function namesIn(runtimes: string): string[] {
  const names: unknown = JSON.parse(runtimes)
  return Array.isArray(names) ? names.map(String) : []
}

async function requireFreeName(tx: Tx, app: App, name: string): Promise<void> {
  if ((await findAgent(tx.query, app.accountId, name)) !== undefined)
    throw fault('conflict', { message: `There is an agent ${name} already.` })
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
    last_seen_at: null,
    created_at: app.clock.now(),
  }
}

/** Changes what is given; the runtimes that name the agent follow a new name. Throws `not-found`, `conflict` for a name in use. */
export async function changeAgent(app: App, name: string, patch: AgentPatch): Promise<Agent> {
  const row = await app.store.write(async (tx) => {
    const before = await requireAgent(tx, app, name)
    const changes: Partial<AgentRow> = {
      ...(patch.name !== undefined && { name: patch.name }),
      ...(patch.runtimes !== undefined && { runtimes: JSON.stringify(patch.runtimes) }),
    }
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

async function requireAgent(tx: Tx, app: App, name: string): Promise<AgentRow> {
  const row = await findAgent(tx.query, app.accountId, name)
  if (row === undefined) throw fault('not-found', { message: `There is no agent ${name}.` })
  return row
}

/** Gives an agent a new secret; its id stays, and the token before is worth nothing from then on. Throws `not-found`. */
export async function rotateToken(app: App, name: string): Promise<Created> {
  const { secret } = tokenOf(app, { name, runtimes: [] })
  const row = await app.store.write(async (tx) => {
    const before = await requireAgent(tx, app, name)
    const changes = { hash: sha256(secret) }
    await updateAgent(tx, before.id, changes)
    return { ...before, ...changes }
  })
  return { ...(await showAgent(app, row)), token: `${row.id}.${secret}` }
}

/** Revokes its token at once. Throws `not-found`. Answers its id. */
export async function removeAgent(app: App, name: string): Promise<string> {
  return app.store.write(async (tx) => {
    const row = await findAgent(tx.query, app.accountId, name)
    if (row === undefined) throw fault('not-found', { message: `There is no agent ${name}.` })
    await deleteAgent(tx, row.id)
    tx.wake(ELECT_TOPIC)
    return row.id
  })
}

export async function showAgent(app: App, row: AgentRow): Promise<Agent> {
  const status =
    row.last_seen_at === null ? 'never-seen' : isOnline(row, app.clock.now(), app.timings.agentLeaseMs) ? 'online' : 'offline'
  return {
    id: row.id,
    name: row.name,
    accountId: row.account_id,
    runtimes: await runtimesOf(app, row),
    status,
    createdAt: row.created_at,
    ...present({
      executor: row.executor,
      version: row.version,
      lastSeenAt: row.last_seen_at,
      protocol: row.protocol,
      message: row.message,
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
