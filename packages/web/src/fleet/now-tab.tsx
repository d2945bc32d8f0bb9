/** What happens on a runtime now, what is wrong with it, and its load of the last 24 hours. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { textOfReason } from '@windlass/plan'
import type { Build, Runtime, RuntimeActivity } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { Duration } from '../builds/build-row.tsx'
import { useFreshBuilds } from '../builds/fresh.ts'
import { useNow } from '../looks/clock.ts'
import { lookOfBuild } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { formatSpan } from '../looks/time.ts'
import { Command } from '../parts/copy.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { Table } from '../parts/table.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import { Findings } from './agents/findings.tsx'
import styles from './fleet.module.css'
import { LoadChart } from './load/load-chart.tsx'
import { fleet } from './queries.ts'

/** Builds that hold a place of the runtime. */
const HOLDING = ['elected', 'running', 'terminating']

export function NowTab({ runtime }: { readonly runtime: Runtime }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(fleet.activity(runtime.name))
  const { data: health } = useQuery(fleet.health(runtime.name))
  const { data: merged } = useQuery(fleet.merged(runtime.name))
  const capacity = merged?.spec['capacity']
  return (
    <div className={styles['stack']}>
      {health !== undefined && <Findings findings={health.findings} none="The server has no findings about this runtime." />}
      {isPending && <Loading rows={4} what="the load" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <>
          <h2>Last 24 hours</h2>
          <LoadChart samples={data.samples} capacity={typeof capacity === 'number' ? capacity : undefined} />
          <h2>Running: {runtime.running}</h2>
          <RunningBuilds runtime={runtime.name} />
          <h2>Waiting: {runtime.waiting}</h2>
          <WaitingBuilds waiting={data.waiting} />
          {data.pairs.length > 0 && <h2>Warm pairs: {data.pairs.length}</h2>}
          {data.pairs.length > 0 && <WarmPairs pairs={data.pairs} />}
        </>
      )}
      <Command text={sh`windlass get activity ${runtime.name}`} />
    </div>
  )
}

function RunningBuilds({ runtime }: { readonly runtime: string }): ReactElement {
  const filter = { runtime: [runtime], status: HOLDING }
  const list = useInfiniteQuery(queries.builds(filter))
  const all = (list.data?.pages ?? []).flatMap(({ items }) => items)
  useFreshBuilds({ builds: all, filter, hasOlder: list.hasNextPage, isHeld: () => false, refresh: () => list.refetch() })
  if (list.isPending) return <Loading rows={2} what="running builds" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const builds = all.filter(({ status }) => HOLDING.includes(status))
  if (builds.length === 0) return <p className="quiet">No build runs here.</p>
  return (
    <Table
      caption="Running builds"
      rows={builds}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Status', cell: (build) => <Status look={lookOfBuild(build)} /> },
        { head: 'Build', cell: BuildLink },
        { head: 'Pipeline', cell: ({ pipeline, file }) => <bdi>{pipeline ?? file ?? 'without a pipeline'}</bdi> },
        { head: 'Step', cell: ({ progress }) => <bdi>{progress?.current ?? ''}</bdi> },
        { head: 'Time', cell: (build) => <Duration build={build} /> },
      ]}
    />
  )
}

function BuildLink({ id, number }: Pick<Build, 'id' | 'number'>): ReactElement {
  return <Link href={paths.build(id)}>#{number}</Link>
}

function WaitingBuilds({ waiting }: Pick<RuntimeActivity, 'waiting'>): ReactElement {
  const now = useNow()
  if (waiting.length === 0) return <p className="quiet">No build waits for this runtime.</p>
  return (
    <Table
      caption="Waiting builds, the next to start first"
      rows={waiting}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Build', cell: BuildLink },
        { head: 'Pipeline', cell: ({ pipeline }) => <bdi>{pipeline ?? 'without a pipeline'}</bdi> },
        { head: 'Branch', cell: ({ branch }) => <bdi>{branch ?? ''}</bdi> },
        { head: 'Why', cell: ({ reason }) => textOfReason(reason)?.replace(/\.$/, '') ?? '' },
        { head: 'Time', cell: ({ since }) => formatSpan(now - since) },
      ]}
    />
  )
}

function WarmPairs({ pairs }: Pick<RuntimeActivity, 'pairs'>): ReactElement {
  const now = useNow()
  return (
    <Table
      caption="Warm pairs"
      rows={pairs}
      keyOf={({ id }) => id}
      columns={[
        { head: 'State', cell: ({ status }) => status },
        { head: 'For', cell: ({ readyAt, createdAt }) => formatSpan(now - (readyAt ?? createdAt)) },
        { head: 'Pods', cell: ({ pods }) => <bdi className="mono">{pods.join(' ')}</bdi> },
      ]}
    />
  )
}
