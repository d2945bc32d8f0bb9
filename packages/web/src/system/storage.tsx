/** What the server stores, until when there is room, and what is deleted next. */
import { formatBytes } from '@windlass/plan'
import type { SystemState } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { useNow } from '../looks/clock.ts'
import { formatDate, formatSpan } from '../looks/time.ts'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import styles from './system.module.css'

const DAY_MS = 86_400_000

export function Storage({ system }: { readonly system: SystemState }): ReactElement {
  const { disk, store } = system
  const used = disk.totalBytes - disk.freeBytes
  const share = disk.totalBytes === 0 ? 0 : used / disk.totalBytes
  const text = `${formatBytes(used)} of ${formatBytes(disk.totalBytes)} used`
  return (
    <section className={styles['stack']} aria-label="Storage">
      <h2>Storage</h2>
      <div className={styles['disk']}>
        <p>
          <strong>{text}</strong>, database {formatBytes(store.bytes)}
        </p>
        <meter min={0} max={1} high={1 - 2 * disk.minFreeShare} value={share} aria-label={text}>
          {text}
        </meter>
        <p className="quiet">{forecastOf(disk)}</p>
      </div>
      <Retention retention={system.retention} />
    </section>
  )
}

/** Returns when the disk is full, in words. */
export function forecastOf({ fullInMs, minFreeShare }: SystemState['disk']): string {
  const limit = `The server accepts no builds below ${(minFreeShare * 100).toFixed(0)} % of free space`
  return fullInMs === undefined
    ? `${limit}. There is no forecast: the use does not grow, or is known for less than a day.`
    : `${limit}, at the present growth in about ${formatSpan(fullInMs)}.`
}

interface Kept {
  readonly what: string
  readonly days: number
  readonly oldestAt?: number | undefined
}

function Retention({ retention }: Pick<SystemState, 'retention'>): ReactElement {
  const { buildDays, logDays, taskDays, auditDays, oldestLogAt, oldestBuildAt } = retention
  const now = useNow()
  const rows: Kept[] = [
    { what: 'Logs', days: logDays, oldestAt: oldestLogAt },
    { what: 'Builds', days: buildDays, oldestAt: oldestBuildAt },
    { what: 'Tasks of agents', days: taskDays },
    { what: 'Audit log', days: auditDays },
  ]
  return (
    <Table
      caption="How long data is kept, and what goes next"
      rows={rows}
      keyOf={({ what }) => what}
      columns={[
        { head: 'Data', cell: ({ what }) => what },
        { head: 'Kept for', cell: ({ days }) => `${days} day${days === 1 ? '' : 's'}` },
        { head: 'Oldest build ended', cell: ({ oldestAt }) => oldestAt !== undefined && <When at={oldestAt} /> },
        {
          head: 'Goes next',
          cell: ({ days, oldestAt }) => (oldestAt === undefined ? '' : `on ${formatDate(oldestAt + days * DAY_MS, now)}`),
        },
      ]}
    />
  )
}
