/** A small drawing of a value over time, with its figures as a table. */
import { useId, type ReactElement } from 'react'
import { formatClock } from '../../looks/time.ts'
import styles from './usage.module.css'

const WIDTH = 240
const HEIGHT = 48

export interface UsageDrawingProps {
  readonly name: string
  /** In the order of their times. */
  readonly points: readonly { readonly at: number; readonly value: number | undefined }[]
  /** Drawn as a line. */
  readonly limit?: number | undefined
  readonly format: (value: number) => string
}

/** Draws the points that have a value; nothing if fewer than two have one. */
export function UsageDrawing({ name, points, limit, format }: UsageDrawingProps): ReactElement | null {
  const title = useId()
  const known = points.flatMap(({ at, value }) => (value === undefined ? [] : [{ at, value }]))
  const [first, last] = [known[0], known.at(-1)]
  if (first === undefined || last === undefined || first === last) return null
  const greatest = Math.max(...known.map(({ value }) => value))
  const top = Math.max(greatest, limit ?? 0, Number.MIN_VALUE)
  const x = (at: number): number => ((at - first.at) / Math.max(1, last.at - first.at)) * WIDTH
  const y = (value: number): number => HEIGHT - (value / top) * (HEIGHT - 2) - 1
  const line = known
    .map(({ at, value }, index) => `${index === 0 ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('')
  return (
    <figure className={styles['drawing']}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img" aria-labelledby={title}>
        <title id={title}>{`${name}: at most ${format(greatest)}${limit === undefined ? '' : ` of ${format(limit)}`}`}</title>
        <path className={styles['area']} d={`${line}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`} />
        <path className={styles['curve']} d={line} />
        {limit !== undefined && <path className={styles['limit']} d={`M0 ${y(limit)}H${WIDTH}`} />}
      </svg>
      <details>
        <summary>{name.split(' ', 1)[0]} over time</summary>
        <table>
          <caption className="unseen">{name}</caption>
          <thead>
            <tr>
              <th scope="col">After</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {known.map(({ at, value }) => (
              <tr key={at}>
                <td>{formatClock(at - first.at)}</td>
                <td>{format(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}
