/** `/livez` (or `/healthz`), `/readyz` and `/metrics` of a reporter, for probes and Prometheus. */
import { exposition, probe, serveProbes, type Clock, type ProbeAnswer, type ProbeServer } from '@windlass/kit'
import type { Reporter } from './reporter.ts'

/** The reporter is ready if the server took a body within this time; it sends one at least each minute. Milliseconds. */
const READY_MS = 150_000

export interface Served {
  readonly reporter: Reporter
  readonly clock: Clock
  readonly port: number
}

/** Serves until disposed. Rejects if the port is in use. */
export function serveReporterHealth({ reporter, clock, port }: Served): Promise<ProbeServer> {
  return serveProbes(port, (path): ProbeAnswer | undefined => {
    const { applications, objects, waiting, waitingCharacters, sent, refused, heardAt, isBlind } = reporter.status()
    const isHeard = heardAt > 0 && clock.now() - heardAt < READY_MS
    // A reporter that waits for its server works: a restart would not help.
    if (path === '/healthz' || path === '/livez') return probe(true, '')
    // A cluster without Argo CD must not hold up an upgrade: the server and the metrics say that nothing can be read.
    if (path === '/readyz') return probe(isHeard, 'the server has not answered recently')
    if (path !== '/metrics') return undefined
    const gauge = (name: string, help: string, value: number) => ({
      name: `windlass_reporter_${name}`,
      help,
      samples: [{ value }],
    })
    const counter = (name: string, help: string, value: number) => ({ ...gauge(name, help, value), type: 'counter' as const })
    const body = exposition([
      gauge('applications', 'Applications that this reporter reports.', applications),
      gauge('objects', 'Rollouts, their ReplicaSets and workflows that this reporter reports.', objects),
      gauge('waiting', 'Changes that are not reported yet.', waiting),
      gauge('waiting_characters', 'Size of the manifests that wait.', waitingCharacters),
      counter('reports_total', 'Reports that the server took.', sent),
      counter('refused_total', 'Applications and other objects that the server refused.', refused),
      gauge('ready', 'Whether the server answered recently and all namespaces can be read.', isHeard && !isBlind ? 1 : 0),
      gauge('heard_at_seconds', 'When the server last took a report, in seconds since 1970; 0 for never.', heardAt / 1000),
    ])
    return { status: 200, body }
  })
}
