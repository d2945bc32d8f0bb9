/** The table of agents of `runner info` and `get agents`. */
import { systemClock } from '@windlass/kit'
import type { ApiClient } from '@windlass/client'
import type { Agent, GitlabManager } from '@windlass/protocol'
import { alignColumns } from '../format/columns.ts'
import { formatAge } from '../format/time.ts'
import type { Style } from '../format/style.ts'
import type { Printer } from '../printer.ts'

/** Prints all agents. Resolves to their number. */
export async function printAgents(client: ApiClient, out: Printer): Promise<number> {
  const { items: agents } = await client.agents.list()
  if (agents.length === 0) out.note('no available resources')
  else for (const line of agentTable(agents, { now: systemClock.now(), style: out.stdout.style })) out.note(line)
  return agents.length
}

/** Returns the lines of the table: NAME, RUNTIMES, STATUS, REPORTED. Pure. */
export function agentTable(agents: readonly Agent[], { now, style }: { now: number; style: Style }): string[] {
  const head = ['NAME', 'RUNTIMES', 'STATUS', 'REPORTED'].map((cell) => style.dim(cell))
  const rows = agents.map((agent) => [
    agent.name,
    agent.runtimes.join(', '),
    paintHealth(style, healthOf(agent)),
    agent.lastSeenAt === undefined ? '' : `${formatAge(agent.lastSeenAt, now)} ago`,
  ])
  return alignColumns([head, ...rows])
}

/** Returns the lines of the table of managers of GitLab runners: MANAGER, AGENT, STATUS, JOBS, REPORTED. Pure. */
export function managerTable(managers: readonly GitlabManager[], { now, style }: { now: number; style: Style }): string[] {
  const head = ['GITLAB MANAGER', 'AGENT', 'STATUS', 'JOBS', 'REPORTED'].map((cell) => style.dim(cell))
  const rows = managers.map(({ id, agent, status, isAsking, jobs, concurrent, seenAt }) => [
    id,
    agent ?? '',
    status === 'online' ? style.green(isAsking ? 'online' : 'draining') : style.red('silent'),
    `${jobs} of ${concurrent}`,
    `${formatAge(seenAt, now)} ago`,
  ])
  return alignColumns([head, ...rows])
}

/** Returns `healthy`, `unhealthy`, or `N/A` before the first report of the agent. */
export function healthOf(agent: Agent): string {
  return agent.health ?? 'N/A'
}

/** Colors a health green, red or gray. */
export function paintHealth(style: Style, health: string): string {
  if (health === 'healthy') return style.green(health)
  return health === 'unhealthy' ? style.red(health) : style.dim(health)
}
