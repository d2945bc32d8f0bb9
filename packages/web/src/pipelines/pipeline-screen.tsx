/** One pipeline: its last builds, its document, its triggers, and the form that runs it. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link, useParams } from 'wouter'
import { sentenceOf } from '../builds/build-row.tsx'
import { lookOfBuild } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { ButtonLink } from '../parts/button.tsx'
import { Command, CopyButton } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { NotHere } from '../shell/not-here.tsx'
import { Page } from '../shell/page.tsx'
import { paths, readPipeline } from '../url/paths.ts'
import { HistoryTab } from './history-tab.tsx'
import styles from './pipelines.module.css'
import { RunFormView } from './run-form.tsx'

const PARTS: readonly (string | undefined)[] = [undefined, 'triggers', 'history', 'run']

/** Builds that the overview shows. */
const LAST_BUILDS = 10

export function PipelineScreen(): ReactElement {
  const { '*': rest = '' } = useParams<{ '*'?: string }>()
  const { name, part } = readPipeline(rest)
  const { data, error, isPending, refetch } = useQuery(queries.pipeline(name))
  if (!PARTS.includes(part)) return <NotHere />
  return (
    <Page title={name} heading={<bdi>{name}</bdi>} actions={<ButtonLink href={paths.pipeline(name, 'run')}>Run</ButtonLink>}>
      <Tabs
        label="Parts of the pipeline"
        tabs={[
          { label: 'Overview', href: paths.pipeline(name), isCurrent: part === undefined },
          { label: 'Triggers', href: paths.pipeline(name, 'triggers'), isCurrent: part === 'triggers' },
          { label: 'History', href: paths.pipeline(name, 'history'), isCurrent: part === 'history' },
          { label: 'Run', href: paths.pipeline(name, 'run'), isCurrent: part === 'run' },
        ]}
      />
      {isPending && <Loading rows={8} what="the pipeline" />}
      {data === undefined && error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && part === undefined && <Overview pipeline={data} />}
      {data !== undefined && part === 'triggers' && <Triggers pipeline={name} />}
      {data !== undefined && part === 'history' && <HistoryTab pipeline={data} />}
      {data !== undefined && part === 'run' && <RunFormView key={name} pipeline={data} />}
    </Page>
  )
}

function Overview({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
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

function Triggers({ pipeline }: { readonly pipeline: string }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(queries.triggers(pipeline))
  if (isPending) return <Loading rows={3} what="triggers" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data.items.length === 0)
    return (
      <Empty action={<Command text={`windlass get triggers --pipeline ${pipeline}`} />}>No git event starts this pipeline.</Empty>
    )
  return (
    <Table
      caption="Triggers by git events"
      rows={data.items}
      keyOf={({ id }) => id}
      columns={[
        { head: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
        { head: 'Written in', cell: ({ origin }) => (origin === 'document' ? 'the document' : 'the server') },
        { head: 'Changed', cell: ({ updatedAt }) => <When at={updatedAt} /> },
      ]}
    />
  )
}
