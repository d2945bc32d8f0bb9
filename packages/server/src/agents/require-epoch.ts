/** The agent behind a call, which must be the process that has its identity. */
import { fault } from '@windlass/kit'
import type { App } from '../app.ts'
import { calledAt, findAgentById, updateAgent } from '../store/runtimes/agents.ts'
import type { AgentRow } from '../store/schema/schema.ts'

/** Minimum time between two updates of an agent's `last_seen_at`. Milliseconds. */
export const UPDATE_EVERY_MS = 5000

/** Returns the agent and updates when it was last seen. Throws `agent-fenced` if the epoch is not the current one. */
export async function requireEpoch(app: App, agentId: string, epoch: number): Promise<AgentRow> {
  const agent = await readAgent(app, agentId, epoch)
  const now = app.clock.now()
  if (agent.last_seen_at === null || now - agent.last_seen_at >= Math.min(UPDATE_EVERY_MS, app.timings.agentLeaseMs / 4)) {
    await app.store.write((tx) => updateAgent(tx, agentId, calledAt(agent, now, app.timings)))
  }
  return agent
}

/** Returns the agent. Throws `agent-fenced` if the epoch is not the current one. */
export async function readAgent(app: App, agentId: string, epoch: number): Promise<AgentRow> {
  const agent = await findAgentById(app.store.query, agentId)
  if (agent === undefined) throw fault('unauthenticated', { message: 'The agent of this token was deleted.' })
  if (agent.epoch !== epoch) throw fault('agent-fenced')
  return agent
}
