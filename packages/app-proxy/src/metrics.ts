/** What an app-proxy counts, for Prometheus. */
import { exposition, probe, serveProbes, type Metric, type ProbeServer } from '@windlass/kit'
import { ARGO_CD_STATES } from '@windlass/protocol'
import type { Reported } from './status/report-loop.ts'

/** Calls of users. Probes do not count. */
export class CallCounts {
  #open = 0
  readonly #ended = new Map<string, number>()

  get open(): number {
    return this.#open
  }

  /** Calls that have ended, by outcome. */
  get ended(): ReadonlyMap<string, number> {
    return this.#ended
  }

  begin(): void {
    this.#open += 1
  }

  /** `status` is that of the answer; undefined if the caller has left before it. */
  end(status: number | undefined): void {
    this.#open -= 1
    const outcome = status === undefined ? 'left' : `${Math.floor(status / 100)}xx`
    this.#ended.set(outcome, (this.#ended.get(outcome) ?? 0) + 1)
  }
}

export interface Measured {
  readonly counts: CallCounts
  /** What was reported last; undefined for the app-proxy of a Runner. */
  readonly reported: Reported | undefined
}

/** Serves `/metrics` until disposed, apart from the routes of users: it needs no credential. Rejects if the port is in use. */
export function serveMetrics(port: number, measured: Measured): Promise<ProbeServer> {
  return serveProbes(port, (path) => {
    if (path === '/livez') return probe(true, '')
    return path === '/metrics' ? { status: 200, body: exposition(metricsOf(measured)) } : undefined
  })
}

function metricsOf({ counts, reported }: Measured): Metric[] {
  const own: Metric[] = [
    { name: 'windlass_app_proxy_calls', help: 'Calls in progress.', samples: [{ value: counts.open }] },
    {
      name: 'windlass_app_proxy_calls_total',
      help: 'Calls that have ended, by the class of their status; left: the caller did not wait.',
      type: 'counter',
      samples: Array.from(counts.ended, ([outcome, value]) => ({ labels: { outcome }, value })),
    },
  ]
  return reported === undefined ? own : [...own, ...statusMetrics(reported)]
}

function statusMetrics({ statusAt, clustersAt, clusters, report }: Reported): Metric[] {
  return [
    {
      name: 'windlass_app_proxy_reported_seconds',
      help: 'When the control plane last took a report, in seconds since 1970; 0 for never.',
      samples: [
        { labels: { report: 'status' }, value: statusAt / 1000 },
        { labels: { report: 'clusters' }, value: clustersAt / 1000 },
      ],
    },
    { name: 'windlass_app_proxy_clusters', help: 'Clusters that Argo CD knows.', samples: [{ value: clusters }] },
    {
      name: 'windlass_app_proxy_check',
      help: 'Checks of the runtime: 1 for successful, 0 for failed, absent for unknown.',
      samples: Object.entries(report?.checks ?? {}).map(([check, { status }]) => ({
        labels: { check },
        value: status === 'unknown' ? undefined : Number(status === 'successful'),
      })),
    },
    {
      name: 'windlass_app_proxy_argo_cd',
      help: 'What Argo CD answers to the token of the runtime: 1 for its state.',
      samples: ARGO_CD_STATES.map((state) => ({
        labels: { state },
        value: report === undefined ? undefined : Number(report.argoCd.state === state),
      })),
    },
  ]
}
