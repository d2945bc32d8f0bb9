/** The GitOps runtimes, each in one sentence. */
import { useQuery } from '@tanstack/react-query'
import type { RuntimeStatus, Tunnel } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { useNow } from '../looks/clock.ts'
import { sh } from '../parts/shell.ts'
import { StatusMark } from '../looks/status.tsx'
import { formatSpan } from '../looks/time.ts'
import styles from './delivery.module.css'
import { deliveryQueries } from './queries.ts'
import { lookOfTunnel } from './states.ts'

export function RuntimeLines(): ReactElement | null {
  const { data } = useQuery(deliveryQueries.tunnels())
  const { data: statuses } = useQuery(deliveryQueries.statuses())
  const now = useNow()
  if (data === undefined || data.length === 0) return null
  return (
    <ul className={styles['runtimes']} aria-label="GitOps runtimes">
      {data.map((tunnel) => (
        <li key={tunnel.id}>
          <StatusMark look={lookOfTunnel(tunnel)} beside />
          <span>
            <bdi>{tunnel.runtime}</bdi> {describeTunnel(tunnel, now)}{' '}
            <Problems status={statuses?.find(({ runtime }) => runtime === tunnel.runtime)} />
          </span>
        </li>
      ))}
    </ul>
  )
}

/** What is broken in a runtime: the worst in words, and how much more there is. */
function Problems({ status }: { readonly status: RuntimeStatus | undefined }): ReactElement | null {
  const [first, ...more] = status?.problems ?? []
  if (status === undefined || first === undefined) return null
  return (
    <span className={styles['problem']}>
      {/* The server writes commands between backticks. */}
      {first.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}
      {more.length > 0 && (
        <>
          {' '}
          And {more.length} more: <code>{sh`windlass gitops status ${status.runtime}`}</code>
        </>
      )}
    </span>
  )
}

/** Continues the sentence that begins with the name of the runtime. */
export function describeTunnel({ status, connectedAt, seenAt, clientVersion }: Tunnel, now: number): string {
  const ago = (at: number): string => formatSpan(Math.max(0, now - at))
  const version = clientVersion === undefined ? '' : `, tunnel client ${clientVersion}`
  switch (status) {
    case 'online':
      return connectedAt === undefined ? `is connected${version}.` : `is connected for ${ago(connectedAt)}${version}.`
    case 'connecting':
      return 'is connecting: its tunnel client has not answered yet.'
    case 'stale':
      return seenAt === undefined ? 'does not answer.' : `does not answer: last heard of ${ago(seenAt)} ago.`
    default:
      return seenAt === undefined
        ? 'has not connected a tunnel. A runtime with an Ingress needs none.'
        : `has no connection for ${ago(seenAt)}: its tunnel client is stopped, or cannot reach this server.`
  }
}
