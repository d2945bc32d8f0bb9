/** The overview of a pipeline: its last builds and its document. */
import { useInfiniteQuery } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { sentenceOf } from '../builds/build-row.tsx'
import { lookOfBuild } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { ButtonLink } from '../parts/button.tsx'
import { Command, CopyButton } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import styles from './pipelines.module.css'

/** Builds that the overview shows. */
const LAST_BUILDS = 10

export function OverviewTab({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  return (
    <div className={styles['stack']}>
      <p className={styles['facts']}>
        <span>runtime {pipeline.runtime ?? 'default'}</span>
        <span>revision {pipeline.revision}</span>
        <span>
          changed <When at={pipeline.updatedAt} />
        </span>
      </p>
      <h2>Last builds</h2>
      <LastBuilds pipeline={pipeline.name} />
      <h2>
        Document <CopyButton text={pipeline.document} label="Copy the document" />
      </h2>
      <pre className={styles['document']} tabIndex={0} role="region" aria-label="Document of the pipeline">
        <bdi>{pipeline.document}</bdi>
      </pre>
      <Command text={`windlass get pipelines ${pipeline.name} -o yaml`} />
    </div>
  )
}

function LastBuilds({ pipeline }: { readonly pipeline: string }): ReactElement {
  const list = useInfiniteQuery(queries.builds({ pipeline: [pipeline] }))
  if (list.isPending) return <Loading rows={3} what="builds" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const builds = (list.data.pages[0]?.items ?? []).slice(0, LAST_BUILDS)
  if (builds.length === 0)
    return (
      <Empty action={<ButtonLink href={paths.pipeline(pipeline, 'run')}>Run the pipeline</ButtonLink>}>
        The pipeline has no builds yet.
      </Empty>
    )
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
          { head: 'What happens', cell: (build) => <bdi>{sentenceOf(build)}</bdi> },
          { head: 'Created', cell: ({ createdAt }) => <When at={createdAt} /> },
        ]}
      />
      <Link href={paths.builds({ pipeline: [pipeline] })}>Show all builds of the pipeline</Link>
    </>
  )
}
