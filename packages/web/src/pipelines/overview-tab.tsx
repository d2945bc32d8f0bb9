/** The overview of a pipeline: its state in one sentence, its newest builds by branch, what got worse, and its document. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { Build, Pipeline } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { listSentenceOf } from '../build/sentence.ts'
import { lookOfBuild } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { ButtonLink } from '../parts/button.tsx'
import { Command, CopyButton } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { StatusLine } from '../parts/forms/status-line.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { Findings } from '../trends/findings.tsx'
import { pipelineQueries } from '../trends/queries.ts'
import { describeNewest, describeStats } from '../trends/sentence.ts'
import { Strip } from '../trends/strip.tsx'
import trends from '../trends/trends.module.css'
import { paths } from '../url/paths.ts'
import styles from './pipelines.module.css'

/** Builds that the table shows, and those of a strip. */
const SHOWN = { table: 10, strip: 20 } as const
const BRANCHES = 5
const DAYS = 30

export function OverviewTab({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  const { name } = pipeline
  const list = useInfiniteQuery(queries.builds({ pipeline: [name] }))
  const { data: stats } = useQuery(pipelineQueries.stats(name, DAYS))
  if (list.isPending) return <Loading rows={8} what="builds" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const builds = list.data.pages.flatMap(({ items }) => items)
  const state = describeNewest(builds)
  return (
    <div className={styles['stack']}>
      {builds.length === 0 ? (
        <Empty action={<ButtonLink href={paths.pipeline(name, 'run')}>Run the pipeline</ButtonLink>}>
          The pipeline has no builds yet.
        </Empty>
      ) : (
        <>
          {state !== undefined && (
            <StatusLine look={state.look}>
              <bdi>{state.text}</bdi> {stats !== undefined && describeStats(stats, DAYS)}
            </StatusLine>
          )}
          <Branches builds={builds} />
          {stats !== undefined && stats.builds.total > 0 && <Findings stats={stats} />}
          <h2>Last builds</h2>
          <LastBuilds builds={builds.slice(0, SHOWN.table)} pipeline={name} />
        </>
      )}
      <Document pipeline={pipeline} />
    </div>
  )
}

/** Returns the time between start and end. Milliseconds. */
function durationOf({ startedAt, finishedAt }: Build): number | undefined {
  return startedAt === undefined || finishedAt === undefined ? undefined : finishedAt - startedAt
}

/** The builds of each branch as a strip, the branch with the newest build first. */
function Branches({ builds }: { readonly builds: readonly Build[] }): ReactElement {
  const byBranch = Map.groupBy(builds, ({ branch }) => branch ?? '')
  return (
    <dl className={trends['branches']}>
      {[...byBranch].slice(0, BRANCHES).map(([branch, own]) => (
        <div key={branch} className={styles['branch']}>
          <dt>
            <bdi className="mono">{branch === '' ? 'without a branch' : branch}</bdi>
          </dt>
          <dd>
            <Strip
              label={branch === '' ? 'Builds without a branch' : `Builds of ${branch}`}
              builds={own.slice(0, SHOWN.strip).map((build) => ({
                id: build.id,
                number: build.number,
                status: build.status,
                durationMs: durationOf(build),
              }))}
            />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function LastBuilds({ builds, pipeline }: { readonly builds: readonly Build[]; readonly pipeline: string }): ReactElement {
  return (
    <>
      <Table
        caption="Last builds"
        rows={builds}
        keyOf={({ id }) => id}
        columns={[
          { head: 'Status', cell: (build) => <Status look={lookOfBuild(build)} /> },
          { head: 'Build', cell: ({ id, number }) => <Link href={paths.build(id)}>#{number}</Link> },
          { head: 'Branch', cell: ({ branch }) => <bdi>{branch ?? ''}</bdi> },
          { head: 'What happens', cell: (build) => <bdi>{listSentenceOf(build)}</bdi> },
          { head: 'Created', cell: ({ createdAt }) => <When at={createdAt} /> },
        ]}
      />
      <Link href={paths.builds({ pipeline: [pipeline] })}>Show all builds of the pipeline</Link>
    </>
  )
}

function Document({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  return (
    <>
      <h2>
        Document <CopyButton text={pipeline.document} label="Copy the document" />
      </h2>
      <p className={styles['facts']}>
        <span>
          runtime <bdi>{pipeline.runtime ?? 'default'}</bdi>
        </span>
        <span>revision {pipeline.revision}</span>
        <span>
          changed <When at={pipeline.updatedAt} />
        </span>
      </p>
      <pre className={styles['document']} tabIndex={0} role="region" aria-label="Document of the pipeline">
        <bdi>{pipeline.document}</bdi>
      </pre>
      <Command text={sh`windlass get pipelines ${pipeline.name} -o yaml`} />
    </>
  )
}
