/** `/livez`, `/readyz`, `/health` and `/metrics` of an agent, for probes and Prometheus on a local port. */
import http from 'node:http'
import type { Clock } from '@windlass/kit'
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

/** Serves until closed; answers the port it listens on. */
export async function serveHealth(options: HealthOptions): Promise<{ port: number; close(): Promise<void> }> {
  const server = http.createServer((request, response) => {
    void answer(options, request.url ?? '').then(({ status, body }) =>
      response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4' }).end(body),
    )
  })
  server.headersTimeout = 60_000
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(options.port, resolve)
  await promise
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

async function answer(options: HealthOptions, url: string): Promise<{ status: number; body: string }> {
  const { agent, clock, more, runtimes } = options
  const { tasks, facts, epoch, heardAt } = agent()?.status() ?? { tasks: 0, facts: 0, epoch: 0, heardAt: 0 }
  const isReady = heardAt > 0 && clock.now() - heardAt < READY_MS
  if (url === '/livez') return { status: 200, body: 'ok\n' }
  // The public agent says so whenever it listens; who wants to know whether it works asks /readyz.
  if (url === '/health') return { status: 200, body: 'OK' }
  if (url === '/readyz' || url === '/healthz')
    return { status: isReady ? 200 : 503, body: isReady ? 'ok\n' : `the server was not heard for ${READY_MS / 1000} s\n` }
  if (url !== '/metrics') return { status: 404, body: 'not found\n' }
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
