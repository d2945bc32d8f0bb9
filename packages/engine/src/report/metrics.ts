/** The measurements of an engine for Prometheus, enabled by `METRICS_PROMETHEUS_ENABLED` of the runtime. */
import { exposition, serveProbes, type ProbeServer } from '@windlass/kit'
import type { Measurements } from './measurements.ts'

/** Returns the measurements in the Prometheus text format. */
export function metricsText(measurements: Pick<Measurements, 'read'>): string {
  return exposition(
    measurements.read().map(({ name, help, isSum, points }) => ({
      name: toName(name),
      help,
      type: isSum ? 'counter' : 'gauge',
      samples: points.map(({ attributes, value }) => ({
        labels: Object.fromEntries(Object.entries(attributes).map(([key, text]) => [toName(key), text])),
        value,
      })),
    })),
  )
}

/** Names of Prometheus have no dots. */
function toName(name: string): string {
  return name.replaceAll('.', '_')
}

/** Serves `/metrics` until disposed. Rejects if the port is taken. */
export async function serveMetrics(measurements: Pick<Measurements, 'read'>, port: number): Promise<ProbeServer> {
  return serveProbes(port, (path) => (path === '/metrics' ? { status: 200, body: metricsText(measurements) } : undefined))
}
