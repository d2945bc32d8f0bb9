/** `/livez`, `/readyz` and `/metrics` of a monitor. */
import { probe, serveProbes, type Clock, type ProbeServer } from '@windlass/kit'
import type { RunningMonitor } from './monitor.ts'

/** Ready means: the server answered within this time; the monitor speaks at least once a minute. */
const READY_MS = 150_000

/** Serves until disposed. */
export async function serveHealth(options: {
  readonly monitor: RunningMonitor
  readonly clock: Clock
  readonly port: number
}): Promise<ProbeServer> {
  return serveProbes(options.port, (path) => {
    const { pending, batches, heardAt } = options.monitor.status()
    const isReady = heardAt > 0 && options.clock.now() - heardAt < READY_MS
    if (path === '/livez') return probe(true, '')
    if (path === '/readyz') return probe(isReady, 'the server was not heard lately')
    return path === '/metrics' ? { status: 200, body: metrics({ pending, batches, ready: isReady ? 1 : 0 }) } : undefined
  })
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
