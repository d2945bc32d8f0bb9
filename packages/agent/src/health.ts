/** `/livez`, `/readyz`, `/health` and `/metrics` of an agent, for probes and Prometheus on a local port. */
import { exposition, probe, serveProbes, type Clock, type ProbeAnswer, type ProbeServer } from '@windlass/kit'
import type { Agent } from './agent.ts'

export interface HealthOptions {
  /** Undefined until the agent has chosen a protocol. */
  readonly agent: () => Agent | undefined
  /** Number of runtimes served; 0 if the agent accepts tasks of any runtime. */
  readonly runtimes: () => number
  /** Additional metrics of the protocol. */
  readonly more?: () => Promise<string>
  readonly clock: Clock
  readonly port: number
}

/** The agent is ready if the server answered within this time. Polls and leases cause an answer every few seconds. */
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
  // The public agent answers this path with OK whenever it listens. `/readyz` says whether the agent works.
  if (path === '/health') return { status: 200, body: 'OK' }
  if (path === '/readyz' || path === '/healthz') return probe(isReady, `the server has not answered for ${READY_MS / 1000} s`)
  if (path !== '/metrics') return undefined
  const heardAgo = heardAt === 0 ? -1 : (clock.now() - heardAt) / 1000
  const own = metrics({ tasks, facts, epoch, ready: isReady ? 1 : 0, runtimes: runtimes(), heard_ago_seconds: heardAgo })
  return { status: 200, body: own + ((await more?.()) ?? '') }
}

const HELP = {
  tasks: 'Tasks in progress.',
  facts: 'Unsent facts and reports.',
  epoch: 'Epoch of this agent; a higher one fences it.',
  ready: 'Whether the server answered recently.',
  runtimes: 'Runtimes that this agent serves; 0 if it accepts tasks of any runtime.',
  heard_ago_seconds: 'Seconds since the last answer of the server; -1 if there was none.',
} as const

function metrics(values: Readonly<Record<keyof typeof HELP, number>>): string {
  const names = Object.keys(HELP) as (keyof typeof HELP)[]
  return exposition(
    names.map((name) => ({ name: `windlass_agent_${name}`, help: HELP[name], samples: [{ value: values[name] }] })),
  )
}
