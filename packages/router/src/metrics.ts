/** The metrics of a router. */
import type { FaultCode, Metric } from '@windlass/kit'
import type { Outcome } from '@windlass/tunnel/exchange'
import type { Names } from './names.ts'
import type { Service } from './routes.ts'

export interface Counts {
  /** Calls in progress. */
  readonly calls: number
  /** Calls that have ended, by `service outcome`. */
  readonly outcomes: ReadonlyMap<`${Service | 'none'} ${Outcome | FaultCode}`, number>
  readonly lookups: Names['results']
  readonly toCallers: number
  readonly fromCallers: number
}

export function metricsOf({ calls, outcomes, lookups, toCallers, fromCallers }: Counts): Metric[] {
  return [
    { name: 'windlass_router_calls', help: 'Calls in progress.', samples: [{ value: calls }] },
    {
      name: 'windlass_router_calls_total',
      help: 'Calls that have ended, by service and outcome.',
      type: 'counter',
      samples: Array.from(outcomes, ([key, value]) => {
        const [service = '', outcome = ''] = key.split(' ')
        return { labels: { service, outcome }, value }
      }),
    },
    {
      name: 'windlass_router_bytes_total',
      help: 'Bytes of bodies to and from callers, before compression.',
      type: 'counter',
      samples: [
        { labels: { direction: 'to-caller' }, value: toCallers },
        { labels: { direction: 'from-caller' }, value: fromCallers },
      ],
    },
    {
      name: 'windlass_router_lookups_total',
      help: 'Questions to name servers about event sources, by result.',
      type: 'counter',
      samples: Array.from(lookups, ([result, value]) => ({ labels: { result }, value })),
    },
  ]
}
