/** `/livez`, `/readyz` and `/metrics` of an agent, for probes and Prometheus on a local port. */
import http from 'node:http'
import type { Clock } from '@windlass/kit'
import type { Agent } from './agent.ts'

export interface HealthOptions {
  readonly agent: Agent
  readonly clock: Clock
  readonly port: number
}

/** Ready means: the server answered within this time. A held claim and the leases make that happen every few seconds. */
const READY_MS = 60_000

/** Serves until closed; answers the port it listens on. */
export async function serveHealth({ agent, clock, port }: HealthOptions): Promise<{ port: number; close(): Promise<void> }> {
  const server = http.createServer((request, response) => {
    const { tasks, facts, epoch, heardAt } = agent.status()
    const isReady = heardAt > 0 && clock.now() - heardAt < READY_MS
    const answer = (status: number, body: string): void =>
      void response.writeHead(status, { 'content-type': 'text/plain' }).end(body)
    if (request.url === '/livez') return answer(200, 'ok\n')
    if (request.url === '/readyz' || request.url === '/healthz')
      return answer(isReady ? 200 : 503, isReady ? 'ok\n' : 'server not heard\n')
    if (request.url === '/metrics') return answer(200, metrics({ tasks, facts, epoch, ready: isReady ? 1 : 0 }))
    answer(404, 'not found\n')
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(port, resolve)
  await promise
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

const HELP = {
  tasks: 'Tasks in hand.',
  facts: 'Facts that wait to be sent.',
  epoch: 'Epoch of this agent; a higher one fences it.',
  ready: 'Whether the server was heard lately.',
} as const

function metrics(values: Readonly<Record<keyof typeof HELP, number>>): string {
  const gauges = Object.entries(values).map(([name, value]) => {
    const full = `windlass_agent_${name}`
    const help = Object.entries(HELP).find(([key]) => key === name)?.[1] ?? ''
    return `# HELP ${full} ${help}\n# TYPE ${full} gauge\n${full} ${value}\n`
  })
  return gauges.join('')
}
