/** One stream of the log of a build, in one of its attempts. */
import { useQuery } from '@tanstack/react-query'
import { isFinalBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { Suspense, type ReactElement } from 'react'
import { useParams } from 'wouter'
import { Empty } from '../../parts/empty.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { queries } from '../../server/queries.ts'
import { useParam } from '../../url/search.ts'
import { isLost, sentenceOfAttempt } from '../attempt-text.ts'
import { LogViewer } from '../../log/late-viewer.ts'
import styles from './step-panel.module.css'

/** How often the streams of a running build are read again. Milliseconds. */
const REFRESH_MS = 3_000

export interface StreamLogProps {
  readonly build: Build
  readonly stream: string
  /** True while the stream may appear or grow. */
  readonly isOpen: boolean
  /** True to show the first problem at the start. */
  readonly opensAtProblem: boolean
  /** Why there is no output, for streams whose log has not expired. */
  readonly nothing: string
}

export function StreamLog({ build, stream, isOpen, opensAtProblem, nothing }: StreamLogProps): ReactElement {
  const [wanted, setWanted] = useParam('attempt')
  const { '*': place } = useParams<{ '*'?: string }>()
  const streams = useQuery({
    ...queries.logStreams(build.id),
    refetchInterval: isOpen && !isFinalBuild(build.status) ? REFRESH_MS : false,
  })
  if (streams.isPending) return <Loading what="the log" />
  if (streams.data === undefined) return <Problem error={streams.error} onRetry={() => void streams.refetch()} />
  const own = streams.data.items.filter((one) => one.stream === stream)
  const chosen = own.find(({ attempt }) => attempt === Number(wanted)) ?? own.at(-1)
  if (chosen === undefined) return <Empty>{expiredText(streams.data.expiredAt) ?? nothing}</Empty>
  const attempt = build.attempts?.find(({ number }) => number === chosen.attempt)
  return (
    <>
      {own.length > 1 && (
        <label className={styles['attempts']}>
          Attempt{' '}
          <select value={chosen.attempt} onChange={(event) => setWanted(event.target.value)}>
            {own.map((one) => (
              <option key={one.attempt} value={one.attempt}>
                {one.attempt}
              </option>
            ))}
          </select>
        </label>
      )}
      {attempt !== undefined && isLost(attempt) && (
        <p className="quiet">
          <bdi>{sentenceOfAttempt(attempt)}</bdi>
        </p>
      )}
      <div className={styles['log']}>
        <Suspense fallback={<Loading what="the log" />}>
          <LogViewer
            key={chosen.attempt}
            buildId={build.id}
            attempt={chosen.attempt}
            stream={stream}
            live={chosen.open}
            opensAtProblem={opensAtProblem}
            // Without a step in the address, `e` goes to the failed step. There it goes through its problems.
            hasProblemKeys={place !== undefined && place !== ''}
          />
        </Suspense>
      </div>
    </>
  )
}

function expiredText(expiredAt: number | undefined): string | undefined {
  return expiredAt === undefined
    ? undefined
    : `The log was kept until ${new Date(expiredAt).toLocaleDateString('en-GB', { dateStyle: 'long' })}.`
}
