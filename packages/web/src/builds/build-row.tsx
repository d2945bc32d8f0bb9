/** One build in a list: its state, what it is, and its sentence. */
import { describeBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { useNow } from '../looks/clock.ts'
import { lookOfBuild } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { formatClock } from '../looks/time.ts'
import { When } from '../parts/when.tsx'
import { paths } from '../url/paths.ts'
import styles from './builds.module.css'

interface BuildRowProps {
  readonly build: Build
  readonly isCurrent: boolean
  readonly isSelected: boolean
  /** True if the build has left the filter since the list was read. */
  readonly isDimmed: boolean
  readonly onSelect: () => void
}

export function BuildRow({ build, isCurrent, isSelected, isDimmed, onSelect }: BuildRowProps): ReactElement {
  const { number, pipeline, branch, revision, commit, initiator } = build
  return (
    <div className={styles['row']} data-current={isCurrent} data-dimmed={isDimmed} data-selected={isSelected}>
      <input type="checkbox" checked={isSelected} onChange={onSelect} aria-label={`Select build ${number}`} />
      <div className={styles['state']}>
        <Status look={lookOfBuild(build)} />
      </div>
      <div className={styles['main']}>
        <div className={styles['what']}>
          <Link href={paths.build(build.id)} className={styles['number'] ?? ''}>
            <bdi>#{number}</bdi>
          </Link>
          <bdi className={styles['pipeline']}>{pipeline ?? 'without a pipeline'}</bdi>
          {branch !== undefined && <bdi className={styles['ref']}>{branch}</bdi>}
          {revision !== undefined && <bdi className={styles['ref']}>{revision.slice(0, 8)}</bdi>}
          {commit?.message !== undefined && <bdi className={styles['message']}>{commit.message}</bdi>}
        </div>
        <p className={styles['why']}>
          <bdi>{sentenceOf(build)}</bdi>
        </p>
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

/** Returns the sentence of a build in a list. A build that ended well shows its annotation instead. */
export function sentenceOf(build: Build): string {
  const { display } = build
  if (build.status === 'success' && display !== undefined) return `${display.name}: ${String(display.value)}`
  const text = describeBuild(build)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** How long a build ran, runs or waits. */
export function Duration({ build }: { readonly build: Build }): ReactElement {
  const now = useNow()
  const from = build.startedAt ?? build.createdAt
  return <>{formatClock((build.finishedAt ?? now) - from)}</>
}
