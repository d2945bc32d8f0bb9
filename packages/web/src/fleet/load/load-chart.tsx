/** Running and waiting builds of the last 24 hours, as a drawing and as a table. */
import type { ReactElement } from 'react'
import { useNow } from '../../looks/clock.ts'
import { formatHour } from '../../looks/time.ts'
import { Table } from '../../parts/table.tsx'
import styles from '../fleet.module.css'
import { areaOf, byHour, mostOf, type Sample } from './load-shape.ts'

const DAY_MS = 24 * 3_600_000
const WIDTH = 960
const HEIGHT = 120
/** Times below the drawing, as shares of its width. */
const MARKS = [0, 0.25, 0.5, 0.75, 1]
/** The drawing moves once a minute. Milliseconds. */
const MOVE_MS = 60_000

interface LoadProps {
  readonly samples: readonly Sample[]
  /** Maximum number of builds. Undefined for no limit. */
  readonly capacity: number | undefined
}

export function LoadChart({ samples, capacity }: LoadProps): ReactElement {
  const to = Math.ceil(useNow() / MOVE_MS) * MOVE_MS
  const from = to - DAY_MS
  const shown = samples.filter(({ at }) => at >= from)
  const most = mostOf(shown, ({ running, waiting }) => running + waiting)
  const top = Math.max(most, capacity ?? 0, 1)
  const frame = { from, to, width: WIDTH, height: HEIGHT, top }
  const [ran, waited] = [mostOf(shown, ({ running }) => running), mostOf(shown, ({ waiting }) => waiting)]
  if (shown.length === 0) return <p className="quiet">There are no samples yet. The server takes one every five minutes.</p>
  const limit = capacity === undefined ? undefined : HEIGHT - (capacity / top) * HEIGHT
  return (
    <figure className={styles['chart']}>
      <figcaption>
        <span data-of="running">at most {ran} ran</span>
        <span data-of="waiting">at most {waited} waited</span>
        {capacity !== undefined && <span data-of="capacity">capacity {capacity}</span>}
      </figcaption>
      <div className={styles['plot']}>
        <span className={styles['top']} aria-hidden>
          {top}
        </span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`The last 24 hours: at most ${ran} builds ran and ${waited} waited. The table below has the numbers.`}
        >
          {MARKS.slice(1, -1).map((share) => (
            <line key={share} data-of="grid" x1={share * WIDTH} x2={share * WIDTH} y1="0" y2={HEIGHT} />
          ))}
          <path data-of="running" d={areaOf(shown, frame, [() => 0, ({ running }) => running])} />
          <path
            data-of="waiting"
            d={areaOf(shown, frame, [({ running }) => running, ({ running, waiting }) => running + waiting])}
          />
          {limit !== undefined && <line data-of="capacity" x1="0" x2={WIDTH} y1={limit} y2={limit} />}
        </svg>
      </div>
      <p className={styles['times']} aria-hidden>
        {MARKS.map((share) => (
          <span key={share}>{share === 1 ? 'now' : formatHour(from + share * DAY_MS)}</span>
        ))}
      </p>
      <details>
        <summary>The greatest load of each hour as a table</summary>
        <Table
          caption="Load by hour"
          rows={byHour(shown)}
          keyOf={({ at }) => at}
          columns={[
            { head: 'Hour', cell: ({ at }) => formatHour(at) },
            { head: 'Running', cell: ({ running }) => running },
            { head: 'Waiting', cell: ({ waiting }) => waiting },
            { head: 'Warm pairs', cell: ({ pairs }) => pairs },
          ]}
        />
      </details>
    </figure>
  )
}
