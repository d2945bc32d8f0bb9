/** The address at which engines call the server (docs/development/adr/0053). */
import { isLoopback } from '@windlass/kit'
import { parseBaseUrl, type RuntimeSpec } from '@windlass/protocol'
import type { App } from '../app.ts'
import { findAgentById } from '../store/runtimes/agents.ts'
import type { AgentRow, TaskRow } from '../store/schema/schema.ts'
import type { Query } from '../store/store.ts'
import { readStartPayload } from './payload.ts'

/** Returns the base URL for the engine of a start task: that of its runtime environment, of its agent, or the advertised one. */
export async function engineUrlOf(app: App, query: Query, task: Pick<TaskRow, 'agent_id' | 'payload'>): Promise<string> {
  const agent = await findAgentById(query, task.agent_id)
  return engineUrlFor(app, agent, readStartPayload(task).spec)
}

/** Returns the base URL for engines of a runtime environment and the agent that serves it. */
export function engineUrlFor(app: App, agent: AgentRow | undefined, { runtimeScheduler: { serverUrl } }: RuntimeSpec): string {
  if (serverUrl !== undefined) return serverUrl
  return (agent && engineUrlOfAgent(app, agent)) ?? app.advertisedUrl()
}

/**
 * Returns the base URL for engines of an agent. An agent of protocol v2 reports it. For an agent of protocol v1 only the host that it calls is known, and
 * a proxy may have changed it, so a configured URL takes precedence. A loopback address of an agent outside its cluster cannot be used in pods.
 */
export function engineUrlOfAgent(app: App, agent: AgentRow): string | undefined {
  const { server_url: reported, protocol, executor } = agent
  if (reported === null || (protocol === 1 && app.configuredUrl !== undefined)) return app.configuredUrl
  return executor === 'kubernetes' && isLoopback(reported) ? app.configuredUrl : reported
}

/** Returns the base URL that a request was sent to, or undefined if its Host header is invalid. */
export function calledUrl(protocol: string, host: string | undefined): string | undefined {
  const url = parseBaseUrl(`${protocol}://${host ?? ''}`)
  return url !== undefined && new URL(url).origin === url ? url : undefined
}
