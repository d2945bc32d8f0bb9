/** One build in a list: its state, what it is, and its sentence. */
import type { Build } from '@windlass/protocol'
import type { MouseEvent, ReactElement } from 'react'
import { Link } from 'wouter'
import { LinkedSentence } from '../build/linked-sentence.tsx'
import { listSentenceOf } from '../build/sentence.ts'
import { useTime } from '../looks/clock.ts'
import { lookOfBuild } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { formatClock, formatSpan } from '../looks/time.ts'
import { When } from '../parts/when.tsx'
import { paths } from '../url/paths.ts'
import styles from './builds.module.css'

interface BuildRowProps {
  readonly build: Build
  readonly isCurrent: boolean
  readonly isSelected: boolean
  /** True if the build has left the filter since the list was read. */
  readonly isDimmed: boolean
  /** `isRange` is true for a click with shift. */
  readonly onSelect: (isRange: boolean) => void
}

export function BuildRow({ build, isCurrent, isSelected, isDimmed, onSelect }: BuildRowProps): ReactElement {
  const { number, pipeline, file, branch, revision, commit, initiator } = build
  const select = (event: MouseEvent): void => onSelect(event.shiftKey)
  return (
    <div
      className={styles['row']}
      data-build={build.id}
      data-current={isCurrent}
      data-dimmed={isDimmed}
      data-selected={isSelected}
    >
      <input type="checkbox" readOnly checked={isSelected} onClick={select} aria-label={`Select build ${number}`} />
      <div className={styles['state']}>
        <Status look={lookOfBuild(build)} />
      </div>
      <div className={styles['main']}>
        <div className={styles['what']}>
          <Link href={paths.build(build.id)} className={styles['number'] ?? ''}>
            <bdi>#{number}</bdi>
          </Link>
          <bdi className={styles['pipeline']}>{pipeline ?? file ?? 'without a pipeline'}</bdi>
          {branch !== undefined && <bdi className={styles['ref']}>{branch}</bdi>}
          {revision !== undefined && <bdi className={styles['ref']}>{revision.slice(0, 8)}</bdi>}
          {commit?.message !== undefined && <bdi className={styles['message']}>{commit.message}</bdi>}
        </div>
        <Sentence build={build} />
      </div>
      <div className={styles['side']}>
        <bdi className="cut">{initiator}</bdi>
        {build.retries > 0 && <span>{build.retries === 1 ? '1 loss' : `${build.retries} losses`}</span>}
        <span className={styles['time']}>
          <Duration build={build} />
        </span>
        <When at={build.createdAt} />
      </div>
    </div>
  )
}

/** The sentence of a build. A wait says for how long. */
function Sentence({ build }: { readonly build: Build }): ReactElement {
  const text = listSentenceOf(build)
  const since = build.waiting?.since
  const wait = useTime((now) => (since === undefined ? '' : `, for ${formatSpan(now - since)}`))
  return (
    <p className={styles['why']} title={text + wait}>
      <LinkedSentence build={build} text={text} />
      {wait}
    </p>
  )
}

/** How long a build ran, runs or waits, beside the usual time of its pipeline while it runs. */
export function Duration({ build }: { readonly build: Build }): ReactElement {
  const from = build.startedAt ?? build.waiting?.since ?? build.createdAt
  const time = useTime((now) => formatClock((build.finishedAt ?? now) - from))
  return build.usualMs === undefined ? (
    <>{time}</>
  ) : (
    <span title={`Usually ${formatClock(build.usualMs)}: the median of the last successful builds of the pipeline.`}>
      {time} of ~{formatClock(build.usualMs)}
    </span>
  )
}
