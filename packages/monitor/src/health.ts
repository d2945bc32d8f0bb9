/** `/livez`, `/readyz` and `/metrics` of a monitor. */
import http from 'node:http'
import type { Clock } from '@windlass/kit'
import type { RunningMonitor } from './monitor.ts'

/** Ready means: the server answered within this time; the monitor speaks at least once a minute. */
const READY_MS = 150_000

/** Serves until closed; answers the port it listens on. */
export async function serveHealth(options: {
  readonly monitor: RunningMonitor
  readonly clock: Clock
  readonly port: number
}): Promise<{ port: number; close(): Promise<void> }> {
  const server = http.createServer((request, response) => {
    const { pending, batches, heardAt } = options.monitor.status()
    const isReady = heardAt > 0 && options.clock.now() - heardAt < READY_MS
    const answer = (status: number, body: string): void =>
      void response.writeHead(status, { 'content-type': 'text/plain' }).end(body)
    if (request.url === '/livez') return answer(200, 'ok\n')
    if (request.url === '/readyz') return answer(isReady ? 200 : 503, isReady ? 'ok\n' : 'server not heard\n')
    if (request.url === '/metrics') return answer(200, metrics({ pending, batches, ready: isReady ? 1 : 0 }))
    answer(404, 'not found\n')
  })
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

function metrics(values: { readonly pending: number; readonly batches: number; readonly ready: number }): string {
  return [
    '# HELP windlass_monitor_pending Changes that wait to be reported.',
    '# TYPE windlass_monitor_pending gauge',
    `windlass_monitor_pending ${values.pending}`,
    '# HELP windlass_monitor_batches_total Batches that the server has taken.',
    '# TYPE windlass_monitor_batches_total counter',
    `windlass_monitor_batches_total ${values.batches}`,
    '# HELP windlass_monitor_ready Whether the server was heard lately.',
    '# TYPE windlass_monitor_ready gauge',
    `windlass_monitor_ready ${values.ready}`,
    '',
  ].join('\n')
}
