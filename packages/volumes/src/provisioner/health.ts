/** `/livez`, `/readyz` and `/metrics` for probes and Prometheus. */
import http from 'node:http'
import { metricsText } from './metrics.ts'
import type { Provisioner } from './provisioner.ts'

export interface Health extends AsyncDisposable {
  readonly port: number
}

const IDLE = metricsText({
  volumes: [],
  claims: new Map(),
  counts: { reused: 0, created: 0, removed: 0, failed: 0 },
  isLeader: false,
  queues: {},
})

/** Serves until disposed. `find` answers the provisioner, or undefined while another process holds the lease: that is ready too. */
export async function serveHealth(port: number, find: () => Provisioner | undefined): Promise<Health> {
  const server = http.createServer((request, response) => {
    const answer = (status: number, body: string): void =>
      void response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4' }).end(body)
    const provisioner = find()
    if (request.url === '/livez') {
      const isBlind = provisioner?.isBlind() ?? false
      return answer(isBlind ? 503 : 200, isBlind ? 'a watch has ended\n' : 'ok\n')
    }
    if (request.url === '/readyz') {
      const isReady = provisioner?.isReady() ?? true
      return answer(isReady ? 200 : 503, isReady ? 'ok\n' : 'the cluster is not heard\n')
    }
    if (request.url === '/metrics') return answer(200, provisioner?.metrics() ?? IDLE)
    answer(404, 'not found\n')
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(port, resolve)
  await promise
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
