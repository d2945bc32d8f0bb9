/** Agents and runtimes as users manage them. */
import { fault, newId, newToken } from '@windlass/kit'
import type { Agent, AgentInput, Runtime, RuntimeInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { ELECT_TOPIC } from '../builds/edit.ts'
import { readSpec } from '../builds/limits.ts'
import { present } from '../builds/view.ts'
import { deleteAgent, findAgent, insertAgent, isOnline, listAgents, updateAgent } from '../store/agents.ts'
import { countLiveAttempts } from '../store/attempts.ts'
import { deleteRuntime, findDefaultRuntime, findRuntime, listRuntimes, saveRuntime } from '../store/runtimes.ts'
import type { AgentRow, RuntimeRow } from '../store/schema.ts'
import { countWaitingByRuntime } from '../store/waiting.ts'
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

type RuntimeOut = z.output<typeof Runtime>

/** Creates or replaces a runtime. The first one becomes the default. Throws `conflict` when the name is taken, `not-found` for its agent. */
export async function putRuntime(
  app: App,
  put: { name?: string | undefined; input: RuntimeInput; mustBeNew: boolean },
): Promise<{ runtime: RuntimeOut; isNew: boolean }> {
  const { input } = put
  const { row, isNew } = await app.store.write(async (tx) => {
    const before = await findRuntime(tx.query, app.accountId, put.name ?? input.name)
    const taken = await findRuntime(tx.query, app.accountId, input.name)
    if (taken !== undefined && (put.mustBeNew || taken.id !== before?.id))
      throw fault('conflict', { message: `There is a runtime ${input.name} already.` })
    if (before !== undefined && before.name !== input.name)
      throw fault('request-invalid', { message: 'A runtime keeps its name: pipelines and builds refer to it.' })
    const now = app.clock.now()
    const isFirst = (await findDefaultRuntime(tx.query, app.accountId)) === undefined
    const fresh: RuntimeRow = {
      id: before?.id ?? newId(now),
      account_id: app.accountId,
      name: input.name,
      type: input.type,
      agent: input.agent ?? null,
      is_default: input.isDefault || isFirst || before?.is_default === 1 ? 1 : 0,
      spec: JSON.stringify(input.spec),
      created_at: before?.created_at ?? now,
      updated_at: now,
    }
    await saveRuntime(tx, fresh)
    tx.wake(ELECT_TOPIC)
    return { row: fresh, isNew: before === undefined }
  })
  return { runtime: await showRuntime(app, row), isNew }
}

/** Builds that name it wait. Throws `not-found`, and `conflict` while attempts run on it. */
export async function removeRuntime(app: App, name: string): Promise<void> {
  await app.store.write(async (tx) => {
    const row = await findRuntime(tx.query, app.accountId, name)
    if (row === undefined) throw fault('not-found', { message: `There is no runtime ${name}.` })
    const running = (await countLiveAttempts(tx.query)).filter(({ runtime }) => runtime === row.name)
    if (running.length > 0) throw fault('conflict', { message: `Builds run on ${row.name}; wait for them or terminate them.` })
    await deleteRuntime(tx, row.id)
  })
}

export async function showRuntime(app: App, row: RuntimeRow): Promise<RuntimeOut> {
  const now = app.clock.now()
  const { query } = app.store
  const agents = await listAgents(query, app.accountId)
  const serving = await Promise.all(agents.map(async (agent) => ({ agent, runtimes: await runtimesOf(app, agent) })))
  const running = (await countLiveAttempts(query))
    .filter(({ runtime }) => runtime === row.name)
    .reduce((sum, { count }) => sum + count, 0)
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    isDefault: row.is_default === 1,
    spec: readSpec(row),
    agentOnline: serving.some(
      ({ agent, runtimes }) => runtimes.includes(row.name) && isOnline(agent, now, app.timings.agentLeaseMs),
    ),
    running,
    waiting: (await countWaitingByRuntime(query, app.accountId)).get(row.name) ?? 0,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...present({ agent: row.agent }),
  }
}

export async function listShownRuntimes(app: App): Promise<RuntimeOut[]> {
  return Promise.all((await listRuntimes(app.store.query, app.accountId)).map((row) => showRuntime(app, row)))
}
