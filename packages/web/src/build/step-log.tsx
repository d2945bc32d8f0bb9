/** The log of a step in one of its attempts. */
import { useQuery } from '@tanstack/react-query'
import { isFinalStep } from '@windlass/plan'
import type { Build, BuildStep } from '@windlass/protocol'
import { Suspense, type ReactElement } from 'react'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { queries } from '../server/queries.ts'
import { late } from '../shell/late.tsx'
import { useParam } from '../url/search.ts'
import styles from './build.module.css'

const LogViewer = late(async () => (await import('../log/viewer.tsx')).LogViewer)

export function StepLog({ build, step }: { readonly build: Build; readonly step: BuildStep }): ReactElement {
  const [wanted, setWanted] = useParam('attempt')
  const streams = useQuery({ ...queries.logStreams(build.id), refetchInterval: isFinalStep(step.status) ? false : 3_000 })
  if (streams.isPending) return <Loading what="the log" />
  if (streams.data === undefined) return <Problem error={streams.error} onRetry={() => void streams.refetch()} />
  const stream = `step/${step.name}`
  const own = streams.data.items.filter((one) => one.stream === stream)
  const chosen = own.find(({ attempt }) => attempt === Number(wanted)) ?? own.at(-1)
  if (chosen === undefined) return <Empty>{sayNothing(step, streams.data.expiredAt)}</Empty>
  return (
    <>
      {own.length > 1 && (
        <label className={styles['attempts']}>
          Attempt{' '}
          <select value={chosen.attempt} onChange={(event) => setWanted(event.target.value)}>
            {own.map(({ attempt }) => (
              <option key={attempt} value={attempt}>
                {attempt}
              </option>
            ))}
          </select>
        </label>
      )}
      <div className={styles['log']}>
        <Suspense fallback={<Loading what="the log" />}>
          <LogViewer buildId={build.id} attempt={chosen.attempt} stream={stream} live={chosen.open} />
        </Suspense>
      </div>
    </>
  )
}

/** Returns why a step has no log. */
function sayNothing({ status, type }: BuildStep, expiredAt: number | undefined): string {
  if (expiredAt !== undefined)
    return `The log was kept until ${new Date(expiredAt).toLocaleDateString('en-GB', { dateStyle: 'long' })}.`
  if (status === 'pending') return 'The step has not started.'
  if (status === 'skipped') return 'The step did not run.'
  return type === 'group' ? 'A group has no output of its own. Choose one of its steps.' : 'The step has no output.'
}
