/** `/livez`, `/readyz` and `/metrics` for probes and Prometheus. */
import { probe, serveProbes, type ProbeServer } from '@windlass/kit'
import { metricsText } from './metrics.ts'
import type { Provisioner } from './provisioner.ts'

const IDLE = metricsText({
  volumes: [],
  claims: new Map(),
  counts: { reused: 0, created: 0, removed: 0, failed: 0 },
  isLeader: false,
  queues: {},
})

/** Serves until disposed. `find` returns the provisioner, or undefined while another process holds the lease, which counts as ready. */
export async function serveHealth(port: number, find: () => Provisioner | undefined): Promise<ProbeServer> {
  return serveProbes(port, (path) => {
    const provisioner = find()
    if (path === '/livez') return probe(provisioner?.isBlind() !== true, 'a watch has ended')
    if (path === '/readyz') return probe(provisioner?.isReady() ?? true, 'the API server has not answered recently')
    return path === '/metrics' ? { status: 200, body: provisioner?.metrics() ?? IDLE } : undefined
  })
}
