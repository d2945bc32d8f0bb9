/** The metrics of a server of tunnels. */
import type { FaultCode, Metric } from '@windlass/kit'
import type { Outcome } from '../exchange/exchange.ts'
import type { Link } from './link.ts'
import type { RegistrationResult } from './registration.ts'

export interface Counts {
  /** Calls that have ended, by outcome. */
  readonly outcomes: ReadonlyMap<Outcome | FaultCode, number>
  readonly registrations: ReadonlyMap<RegistrationResult, number>
  readonly toCallers: number
  readonly fromCallers: number
}

/** Returns the metrics of the connections that are open, and of all calls. */
export function metricsOf(links: readonly Link[], { outcomes, registrations, toCallers, fromCallers }: Counts): Metric[] {
  const perLink = (valueOf: (link: Link) => number | undefined): Metric['samples'] =>
    links.map((link) => ({ labels: { runtime: link.session.runtime, session: link.session.id }, value: valueOf(link) }))
  return [
    { name: 'windlass_tunnel_clients', help: 'Clients that are connected to this server.', samples: [{ value: links.length }] },
    { name: 'windlass_tunnel_client_streams', help: 'Calls in progress.', samples: perLink(({ calls }) => calls) },
    {
      name: 'windlass_tunnel_client_round_trip_seconds',
      help: 'Time of the last ping and its answer.',
      samples: perLink(({ rttMs }) => (rttMs === undefined ? undefined : rttMs / 1000)),
    },
    {
      name: 'windlass_tunnel_server_calls_total',
      help: 'Calls that have ended, by outcome.',
      type: 'counter',
      samples: Array.from(outcomes, ([outcome, value]) => ({ labels: { outcome }, value })),
    },
    {
      name: 'windlass_tunnel_server_bytes_total',
      help: 'Bytes of bodies to and from callers.',
      type: 'counter',
      samples: [
        { labels: { direction: 'to-caller' }, value: toCallers },
        { labels: { direction: 'from-caller' }, value: fromCallers },
      ],
    },
    {
      name: 'windlass_tunnel_registrations_total',
      help: 'Registrations of clients, by result.',
      type: 'counter',
      samples: Array.from(registrations, ([result, value]) => ({ labels: { result }, value })),
    },
  ]
}
