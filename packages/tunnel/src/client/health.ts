/** `/livez` (or `/healthz`), `/readyz` and `/metrics` of a client, for probes and Prometheus on a local port. */
import { exposition, probe, serveProbes, type ProbeAnswer, type ProbeServer } from '@windlass/kit'
import type { TunnelClient } from './tunnel-client.ts'

/** Serves until disposed. Rejects if the port is in use. */
export function serveTunnelHealth(client: TunnelClient, port: number): Promise<ProbeServer> {
  return serveProbes(port, (path) => answer(client, path))
}

function answer(client: TunnelClient, path: string): ProbeAnswer | undefined {
  const status = client.status()
  // A client that waits for its server works: a restart would not help.
  if (path === '/healthz' || path === '/livez') return probe(true, '')
  // One of several clients is connected, and the others can take its place at any time.
  if (path === '/readyz') return probe(status.isOnline || status.isWaiting, status.problem ?? 'the tunnel is not connected')
  if (path !== '/metrics') return undefined
  const { isOnline, connections, failures, streams, calls, sentBytes, receivedBytes } = status
  const body = exposition([
    { name: 'windlass_tunnel_online', help: 'Whether the tunnel is connected.', samples: [{ value: isOnline ? 1 : 0 }] },
    {
      name: 'windlass_tunnel_connections_total',
      help: 'Connections that were made.',
      type: 'counter',
      samples: [{ value: connections }],
    },
    {
      name: 'windlass_tunnel_connection_failures_total',
      help: 'Tries to connect that failed.',
      type: 'counter',
      samples: [{ value: failures }],
    },
    { name: 'windlass_tunnel_streams', help: 'Calls in progress.', samples: [{ value: streams }] },
    {
      name: 'windlass_tunnel_calls_total',
      help: 'Calls that have ended, by outcome.',
      type: 'counter',
      samples: Object.entries(calls).map(([outcome, value]) => ({ labels: { outcome }, value })),
    },
    {
      name: 'windlass_tunnel_bytes_total',
      help: 'Bytes of bodies to and from callers.',
      type: 'counter',
      samples: [
        { labels: { direction: 'to-caller' }, value: sentBytes },
        { labels: { direction: 'from-caller' }, value: receivedBytes },
      ],
    },
  ])
  return { status: 200, body }
}
