/** An agent introduces itself: it gets its epoch, and tasks for what it still holds of attempts that are over. */
import { fault } from '@windlass/kit'
import { PROTOCOL_VERSION, type AgentHello, type AgentWelcome } from '@windlass/protocol'
import type { App } from '../app.ts'
import { editBuild, ELECT_TOPIC, saveBuild } from '../builds/edit.ts'
import { requireProtocol } from '../builds/engine-claim.ts'
import { stopOld } from '../builds/stop-old.ts'
import { lockAgent, updateAgent } from '../store/agents.ts'
import { listRuntimes } from '../store/runtimes.ts'
import type { AgentRow } from '../store/schema.ts'
import { taskTopic } from '../store/tasks.ts'
import { lockPair } from '../store/warm-pairs.ts'
import { stopPair } from '../warm/pairs.ts'
import type { Tx } from '../store/store.ts'
import { FEATURES, VERSION } from '../version.ts'

/** A new process gets a higher epoch and fences the one before; the same process keeps its own. Throws `protocol-unsupported`. */
export async function greetAgent(app: App, agentId: string, hello: AgentHello): Promise<AgentWelcome> {
  requireProtocol(hello.protocol)
  const now = app.clock.now()
  const agent = await app.store.write(async (tx) => {
    const row = await requireAgent(tx, agentId)
    const isNew = row.instance !== hello.instance
    const changes = {
      executor: hello.executor,
      version: hello.version,
      protocol: 2 as const,
      message: null,
      last_seen_at: now,
      ...(isNew && { epoch: row.epoch + 1, instance: hello.instance, fact_seq: 0 }),
    }
    await updateAgent(tx, agentId, changes)
    tx.wake(ELECT_TOPIC)
    tx.wake(taskTopic(agentId))
    return { ...row, ...changes }
  })
  await stopLeftovers(app, agent, hello.attempts)
  return {
    agentId,
    name: agent.name,
    epoch: agent.epoch,
    leaseMs: app.timings.taskLeaseMs,
    runtimes: await runtimesOf(app, agent),
    server: { protocol: PROTOCOL_VERSION, version: VERSION, features: FEATURES },
  }
}

async function requireAgent(tx: Tx, id: string): Promise<AgentRow> {
  const row = await lockAgent(tx, id)
  if (row === undefined) throw fault('unauthenticated', { message: 'This agent was deleted.' })
  return row
}

/** Names of the runtimes an agent serves: those that name it, and those it names. */
export async function runtimesOf(app: App, agent: AgentRow): Promise<string[]> {
  const own: unknown = JSON.parse(agent.runtimes)
  const naming = (await listRuntimes(app.store.query, agent.account_id)).filter(({ agent: name }) => name === agent.name)
  return [...new Set([...(Array.isArray(own) ? own.map(String) : []), ...naming.map(({ name }) => name)])].toSorted()
}

/** Attempts that are over, of which the agent still sees objects, get a stop task. Builds that this server does not know are left alone. */
async function stopLeftovers(app: App, agent: AgentRow, attempts: AgentHello['attempts']): Promise<void> {
  for (const { buildId, attempt } of attempts) {
    await app.store.write(async (tx) => {
      const now = app.clock.now()
      const pair = await lockPair(tx, buildId)
      if (pair !== undefined && pair.agent_id === agent.id && (pair.status === 'stopping' || pair.status === 'gone'))
        return stopPair(tx, pair, { now })
      // The objects of a pair that was taken are those of a build's attempt.
      const takenBy = pair?.build_id ?? undefined
      const of = takenBy === undefined ? { buildId, attempt } : { buildId: takenBy, attempt: pair?.attempt ?? attempt }
      const edit = await editBuild(tx, of.buildId, now)
      if (edit === undefined || edit.build.account_id !== agent.account_id) return
      if (await stopOld(edit, { agentId: agent.id, attempt: of.attempt })) await saveBuild(edit)
    })
  }
}
