/** Agents as users manage them. */
import { fault, newToken } from '@windlass/kit'
import type { Agent, AgentInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { ELECT_TOPIC } from '../builds/edit.ts'
import { present } from '../builds/view.ts'
import { deleteAgent, findAgent, insertAgent, isOnline, listAgents, updateAgent } from '../store/agents.ts'
import type { AgentRow } from '../store/schema.ts'
import { runtimesOf } from '../tasks/hello.ts'

type NewAgent = z.output<typeof AgentInput>

/** Registers an agent; its token is answered once. Throws `conflict` for a name in use. */
export async function createAgent(app: App, input: NewAgent): Promise<Agent & { token: string }> {
  const now = app.clock.now()
  const token = newToken(now)
  const row: AgentRow = {
    id: token.id,
    account_id: app.accountId,
    name: input.name,
    hash: token.hash,
    runtimes: JSON.stringify(input.runtimes),
    executor: null,
    version: null,
    epoch: 0,
    instance: null,
    fact_seq: 0,
    protocol: null,
    message: null,
    last_seen_at: null,
    created_at: now,
  }
  await app.store.write(async (tx) => {
    if ((await findAgent(tx.query, app.accountId, input.name)) !== undefined)
      throw fault('conflict', { message: `There is an agent ${input.name} already.` })
    await insertAgent(tx, row)
  })
  return { ...(await showAgent(app, row)), token: token.text }
}

/** Replaces the runtimes of an agent; its name stays. Throws `not-found`. */
export async function replaceAgent(app: App, name: string, input: NewAgent): Promise<Agent> {
  const row = await app.store.write(async (tx) => {
    const before = await findAgent(tx.query, app.accountId, name)
    if (before === undefined) throw fault('not-found', { message: `There is no agent ${name}.` })
    if (before.name !== input.name) throw fault('request-invalid', { message: 'An agent keeps its name: runtimes refer to it.' })
    const changes = { runtimes: JSON.stringify(input.runtimes) }
    await updateAgent(tx, before.id, changes)
    tx.wake(ELECT_TOPIC)
    return { ...before, ...changes }
  })
  return showAgent(app, row)
}

/** Revokes its token at once. Throws `not-found`, and `conflict` while attempts run on it. Answers its id. */
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
    ...present({ executor: row.executor, version: row.version, lastSeenAt: row.last_seen_at }),
  }
}

export async function listShownAgents(app: App): Promise<Agent[]> {
  return Promise.all((await listAgents(app.store.query, app.accountId)).map((row) => showAgent(app, row)))
}
