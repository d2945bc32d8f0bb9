/** Drawings of numbers as bars, each with a table of the same numbers. */
import type { ReactElement, ReactNode } from 'react'
import styles from './trends.module.css'

export interface Bar {
  readonly label: string
  /** Parts with the name of their look. Stacked if they add up, otherwise drawn behind each other, the largest first. */
  readonly parts: readonly { readonly value: number; readonly look: string; readonly name: string }[]
}

interface BarsProps {
  readonly bars: readonly Bar[]
  readonly isStacked?: boolean
  readonly format: (value: number) => string
  readonly label: string
}

/** A drawing with its title and its table. */
export function Figure({
  title,
  note,
  drawing,
  table,
}: {
  readonly title: string
  readonly note?: string
  readonly drawing: ReactNode
  readonly table: ReactNode
}): ReactElement {
  return (
    <figure className={styles['figure']}>
      <figcaption>
        <h2>{title}</h2>
        {note !== undefined && <p className="quiet">{note}</p>}
      </figcaption>
      {drawing}
      <details>
        <summary>Table</summary>
        {table}
      </details>
    </figure>
  )
}

function sizeOf({ parts }: Bar, isStacked: boolean): number {
  return isStacked ? parts.reduce((sum, { value }) => sum + value, 0) : Math.max(0, ...parts.map(({ value }) => value))
}

function titleOf({ label, parts }: Bar, format: (value: number) => string): string {
  return `${label}: ${parts.map(({ name, value }) => `${name} ${format(value)}`).join(', ')}`
}

/** Where the parts of a bar begin. */
function placed({ parts }: Bar, isStacked: boolean): readonly (Bar['parts'][number] & { readonly start: number })[] {
  let start = 0
  const stacked = parts.map((part) => {
    const at = start
    start += part.value
    return { ...part, start: at }
  })
  return isStacked ? stacked : parts.toSorted((one, other) => other.value - one.value).map((part) => ({ ...part, start: 0 }))
}

const CHART = { width: 360, height: 150, left: 44, bottom: 20, top: 10 } as const

/** Bars beside each other, for weeks. */
export function Columns({ bars, isStacked = false, format, label }: BarsProps): ReactElement {
  const most = Math.max(1, ...bars.map((bar) => sizeOf(bar, isStacked)))
  const { width, height, left, bottom, top } = CHART
  const room = (width - left) / Math.max(bars.length, 1)
  const scale = (height - bottom - top) / most
  const base = height - bottom
  const every = Math.ceil(bars.length / 6)
  return (
    <svg className={styles['chart']} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <line x1={left} x2={width} y1={base} y2={base} />
      <line className={styles['grid']} x1={left} x2={width} y1={top} y2={top} />
      <text x={left - 6} y={top + 4} textAnchor="end">
        {format(most)}
      </text>
      <text x={left - 6} y={base + 4} textAnchor="end">
        {format(0)}
      </text>
      {bars.map((bar, index) => {
        const wide = Math.min(room * 0.7, 28)
        const x = left + room * index + (room - wide) / 2
        return (
          <g key={bar.label}>
            <title>{titleOf(bar, format)}</title>
            {placed(bar, isStacked).map(({ name, value, look, start }) => (
              <rect
                key={name}
                data-look={look}
                x={x}
                y={base - (start + value) * scale}
                width={wide}
                height={value * scale}
                rx="1.5"
              />
            ))}
            {index % every === 0 && (
              <text x={x + wide / 2} y={height - 5} textAnchor="middle">
                {bar.label}
              </text>
            )}
          </g>
        )
      })}
    </svg>
  )
}

const ROW = { width: 360, height: 34, label: 14, bar: 8 } as const

/** Bars below each other, each with its name above it. */
export function Rows({ bars, isStacked = false, format, label }: BarsProps): ReactElement {
  const most = Math.max(1, ...bars.map((bar) => sizeOf(bar, isStacked)))
  const height = bars.length * ROW.height
  return (
    <svg className={styles['chart']} viewBox={`0 0 ${ROW.width} ${Math.max(height, 1)}`} role="img" aria-label={label}>
      {bars.map((bar, index) => {
        const y = index * ROW.height
        return (
          <g key={bar.label}>
            <title>{titleOf(bar, format)}</title>
            <text className={styles['strong']} x={0} y={y + ROW.label}>
              {bar.label.length > 34 ? `${bar.label.slice(0, 33)}…` : bar.label}
            </text>
            <text x={ROW.width} y={y + ROW.label} textAnchor="end">
              {bar.parts.map(({ value }) => format(value)).join(' · ')}
            </text>
            {placed(bar, isStacked).map(({ name, value, look, start }) => (
              <rect
                key={name}
                data-look={look}
                x={(start / most) * ROW.width}
                y={y + ROW.label + 5}
                width={(value / most) * ROW.width}
                height={ROW.bar}
                rx="1.5"
              />
            ))}
          </g>
        )
      })}
    </svg>
  )
}
