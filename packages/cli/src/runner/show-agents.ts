/** The table of agents, as `runner info` and `get agents` show it. */
import { systemClock } from '@windlass/kit'
import type { Agent, Client } from '@windlass/protocol'
import { listAgents } from '../api-runner.ts'
import { alignColumns } from '../format/columns.ts'
import { formatAge } from '../format/time.ts'
import type { Style } from '../format/style.ts'
import type { Printer } from '../printer.ts'

/** Prints all agents; answers how many there are. */
export async function printAgents(client: Client, out: Printer): Promise<number> {
  const agents = await listAgents(client)
  if (agents.length === 0) out.note('no available resources')
  else for (const line of agentTable(agents, { now: systemClock.now(), style: out.stdout.style })) out.note(line)
  return agents.length
}

/** NAME, RUNTIMES, STATUS, REPORTED. Pure. */
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

/** `healthy`, `unhealthy`, or `N/A` before an agent was heard of. */
export function healthOf(agent: Agent): string {
  return agent.health ?? 'N/A'
}

/** Green, red or grey. */
export function paintHealth(style: Style, health: string): string {
  if (health === 'healthy') return style.green(health)
  return health === 'unhealthy' ? style.red(health) : style.dim(health)
}
