/** `/livez`, `/readyz`, `/health` and `/metrics` of an agent, for probes and Prometheus on a local port. */
import { probe, serveProbes, type Clock, type ProbeAnswer, type ProbeServer } from '@windlass/kit'
import type { Agent } from './agent.ts'

export interface HealthOptions {
  /** Undefined while the agent does not know yet which protocol to speak. */
  readonly agent: () => Agent | undefined
  /** Runtimes that are served; 0 when whatever the server sends is. */
  readonly runtimes: () => number
  /** Metrics beside those of every agent. */
  readonly more?: () => Promise<string>
  readonly clock: Clock
  readonly port: number
}

/** Ready means: the server answered within this time. Polls and leases make that happen every few seconds. */
const READY_MS = 30_000

/** Serves until disposed. */
export function serveHealth(options: HealthOptions): Promise<ProbeServer> {
  return serveProbes(options.port, (path) => answer(options, path))
}

async function answer(options: HealthOptions, path: string): Promise<ProbeAnswer | undefined> {
  const { agent, clock, more, runtimes } = options
  const { tasks, facts, epoch, heardAt } = agent()?.status() ?? { tasks: 0, facts: 0, epoch: 0, heardAt: 0 }
  const isReady = heardAt > 0 && clock.now() - heardAt < READY_MS
  if (path === '/livez') return probe(true, '')
  // The public agent says so whenever it listens; who wants to know whether it works asks /readyz.
  if (path === '/health') return { status: 200, body: 'OK' }
  if (path === '/readyz' || path === '/healthz') return probe(isReady, `the server was not heard for ${READY_MS / 1000} s`)
  if (path !== '/metrics') return undefined
  const heardAgo = heardAt === 0 ? -1 : (clock.now() - heardAt) / 1000
  const own = metrics({ tasks, facts, epoch, ready: isReady ? 1 : 0, runtimes: runtimes(), heard_ago_seconds: heardAgo })
  return { status: 200, body: own + ((await more?.()) ?? '') }
}

const HELP = {
  tasks: 'Tasks in hand.',
  facts: 'Facts and reports that wait to be sent.',
  epoch: 'Epoch of this agent; a higher one fences it.',
  ready: 'Whether the server was heard lately.',
  runtimes: 'Runtimes whose clusters this agent has; 0 when it takes tasks of any runtime.',
  heard_ago_seconds: 'Time since the server answered last; -1 when it never did.',
} as const

function metrics(values: Readonly<Record<keyof typeof HELP, number>>): string {
  const gauges = Object.entries(values).map(([name, value]) => {
    const full = `windlass_agent_${name}`
    const help = Object.entries(HELP).find(([key]) => key === name)?.[1] ?? ''
    return `# HELP ${full} ${help}\n# TYPE ${full} gauge\n${full} ${value}\n`
  })
  return gauges.join('')
}
