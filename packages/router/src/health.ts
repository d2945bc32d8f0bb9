/** `/metrics`, `/healthz` and `/readyz` on a port that callers do not reach. */
import { exposition, probe, serveProbes, type ProbeAnswer, type ProbeServer } from '@windlass/kit'
import type { Router } from './router.ts'

/** Serves until disposed. Rejects if the port is in use. */
export function serveRouterMetrics(router: Router, port: number): Promise<ProbeServer> {
  return serveProbes(port, (path) => answer(router, path))
}

function answer(router: Router, path: string): ProbeAnswer | undefined {
  if (path === '/healthz' || path === '/livez') return probe(true, '')
  if (path === '/readyz') return probe(!router.isStopping, 'the router stops')
  return path === '/metrics' ? { status: 200, body: exposition(router.metrics()) } : undefined
}
