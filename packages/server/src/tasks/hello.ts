/** Hello of an agent: it gets its epoch, and stop tasks for objects of attempts that are over. */
import { fault } from '@windlass/kit'
import { parseBaseUrl, PROTOCOL_VERSION, type AgentHello, type AgentWelcome } from '@windlass/protocol'
import type { App } from '../app.ts'
import { editBuild, ELECT_TOPIC, saveBuild } from '../builds/lifecycle/edit.ts'
import { requireProtocol } from '../builds/engine/engine-claim.ts'
import { stopStaleAttempt } from '../builds/lifecycle/ends/stop-stale-attempt.ts'
import { calledAt, lockAgent, updateAgent } from '../store/runtimes/agents.ts'
import { listRuntimes } from '../store/runtimes/runtimes.ts'
import type { AgentRow, RuntimeRow } from '../store/schema/schema.ts'
import { taskTopic } from '../store/runtimes/tasks.ts'
import { lockPair } from '../store/runtimes/warm-pairs.ts'
import { stopPair } from '../warm/pairs.ts'
import type { Query, Tx } from '../store/store.ts'
import { FEATURES, VERSION } from '../version.ts'

/** Registers an agent process. A new process gets a higher epoch and fences the previous one. The same process keeps its epoch. Throws `protocol-unsupported`. */
export async function greetAgent(app: App, agentId: string, hello: AgentHello): Promise<AgentWelcome> {
  requireProtocol(hello.protocol)
  const now = app.clock.now()
  const serverUrl = hello.serverUrl === undefined ? undefined : parseBaseUrl(hello.serverUrl)
  const agent = await app.store.write(async (tx) => {
    const row = await requireAgent(tx, agentId)
    const isNew = row.instance !== hello.instance
    const changes = {
      executor: hello.executor,
      version: hello.version,
      protocol: 2 as const,
      message: null,
      server_url: serverUrl ?? null,
      features: JSON.stringify(hello.features),
      ...calledAt(row, now, app.timings),
      ...(isNew && { epoch: row.epoch + 1, instance: hello.instance, fact_seq: 0 }),
    }
    await updateAgent(tx, agentId, changes)
    tx.wake(ELECT_TOPIC)
    tx.wake(taskTopic(agentId))
    return { ...row, ...changes, isNew }
  })
  // The value is not logged because it may contain a password. Only new processes are logged, because an agent says hello every minute.
  if (agent.isNew && hello.serverUrl !== undefined && serverUrl === undefined)
    app.log.warn({ agent: agent.name }, 'ignored the serverUrl of the agent: it is not the base URL of a server')
  await stopLeftovers(app, agent, hello.attempts)
  return {
    agentId,
    name: agent.name,
    epoch: agent.epoch,
    leaseMs: app.timings.taskLeaseMs,
    runtimes: await runtimesOf(app.store.query, agent),
    server: { protocol: PROTOCOL_VERSION, version: VERSION, features: FEATURES },
  }
}

async function requireAgent(tx: Tx, id: string): Promise<AgentRow> {
  const row = await lockAgent(tx, id)
  if (row === undefined) throw fault('unauthenticated', { message: 'The agent of this token was deleted.' })
  return row
}

/** Reads the names of the runtimes that an agent serves. */
export async function runtimesOf(query: Query, agent: AgentRow): Promise<string[]> {
  return servedBy(agent, await listRuntimes(query, agent.account_id))
}

/** Returns the names of the runtimes that an agent serves: those in its own list, and those that name the agent. */
export function servedBy(agent: AgentRow, runtimes: readonly RuntimeRow[]): string[] {
  const own: unknown = JSON.parse(agent.runtimes)
  const naming = runtimes.filter(({ agent: name }) => name === agent.name)
  return [...new Set([...(Array.isArray(own) ? own.map(String) : []), ...naming.map(({ name }) => name)])].toSorted()
}

/** Creates stop tasks for attempts that are over but whose objects the agent still sees. Ignores builds that this server does not know. */
async function stopLeftovers(app: App, agent: AgentRow, attempts: AgentHello['attempts']): Promise<void> {
  for (const { buildId, attempt } of attempts) {
    await app.store.write(async (tx) => {
      const now = app.clock.now()
      const known = await editBuild(tx, buildId, now)
      const pair = known === undefined ? await lockPair(tx, buildId) : undefined
      if (pair !== undefined && pair.agent_id === agent.id && (pair.status === 'stopping' || pair.status === 'gone'))
        return stopPair(tx, pair, { now })
      // The objects of a taken pair belong to a build's attempt.
      const takenBy = pair?.build_id ?? undefined
      const edit = takenBy === undefined ? known : await editBuild(tx, takenBy, now)
      if (edit === undefined || edit.build.account_id !== agent.account_id) return
      if (await stopStaleAttempt(edit, { agentId: agent.id, attempt: pair?.attempt ?? attempt })) await saveBuild(edit)
    })
  }
}
