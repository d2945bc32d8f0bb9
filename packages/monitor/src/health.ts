/** `/livez`, `/readyz` and `/metrics` of a monitor. */
import { exposition, probe, serveProbes, type Clock, type ProbeServer } from '@windlass/kit'
import type { RunningMonitor } from './monitor.ts'

/** The monitor is ready if the server answered within this time; it calls the server at least once a minute. Milliseconds. */
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
    if (path === '/readyz') return probe(isReady, 'the server has not answered recently')
    return path === '/metrics' ? { status: 200, body: metrics({ pending, batches, ready: isReady ? 1 : 0 }) } : undefined
  })
}

function metrics(values: { readonly pending: number; readonly batches: number; readonly ready: number }): string {
  return exposition([
    { name: 'windlass_monitor_pending', help: 'Changes not yet reported.', samples: [{ value: values.pending }] },
    {
      name: 'windlass_monitor_batches_total',
      help: 'Batches accepted by the server.',
      type: 'counter',
      samples: [{ value: values.batches }],
    },
    { name: 'windlass_monitor_ready', help: 'Whether the server answered recently.', samples: [{ value: values.ready }] },
  ])
}
