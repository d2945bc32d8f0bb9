/** The last builds as bars: height is duration, a notch is a failure. The newest is at the right. */
import type { ReactElement } from 'react'
import { useLocation } from 'wouter'
import { formatClock } from '../looks/time.ts'
import { lookOfBuild } from '../looks/states.ts'
import { paths } from '../url/paths.ts'
import styles from './trends.module.css'

export interface StripBuild {
  readonly id: string
  readonly number: number
  readonly status: string
  readonly durationMs?: number | undefined
}

const WIDTH = 6
const GAP = 2
const HEIGHT = 24
const LEAST = 5
const NOTCH = 3

/** Shows builds, newest first. The lists beside it are its text alternative. */
export function Strip({ builds, label }: { readonly builds: readonly StripBuild[]; readonly label: string }): ReactElement {
  const [, go] = useLocation()
  const longest = Math.max(1, ...builds.map(({ durationMs = 0 }) => durationMs))
  const shown = builds.toReversed()
  const failed = builds.filter(({ status }) => status === 'error').length
  const width = Math.max(shown.length * (WIDTH + GAP) - GAP, WIDTH)
  return (
    <svg
      className={styles['strip']}
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={`${label}: ${builds.length} builds, ${failed} failed`}
    >
      {shown.map((build, index) => {
        const { word, tone } = lookOfBuild(build)
        const height = LEAST + ((build.durationMs ?? 0) / longest) * (HEIGHT - LEAST)
        const [x, y] = [index * (WIDTH + GAP), HEIGHT - height]
        const time = build.durationMs === undefined ? '' : `, ${formatClock(build.durationMs)}`
        return (
          <g key={build.id} data-tone={tone} onClick={() => go(paths.build(build.id))}>
            <title>{`#${build.number} ${word.toLowerCase()}${time}`}</title>
            <rect className={styles['reach']} x={x} y={0} width={WIDTH + GAP} height={HEIGHT} />
            <rect x={x} y={y} width={WIDTH} height={height} rx="1" />
            {build.status === 'error' && <path className={styles['notch']} d={`M${x} ${y}h${WIDTH}l${-WIDTH / 2} ${NOTCH}z`} />}
          </g>
        )
      })}
    </svg>
  )
}
