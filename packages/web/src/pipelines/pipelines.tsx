/** The list of pipelines with their newest builds, the one that was built last first. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { percentile, type Pipeline, type PipelineActivity } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link, useLocation } from 'wouter'
import { Status } from '../looks/status.tsx'
import { lookOfBuild } from '../looks/states.ts'
import { formatClock } from '../looks/time.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/forms/field.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'
import { useSettled } from '../parts/use-settled.ts'
import { When } from '../parts/when.tsx'
import { useSession, whyNot } from '../server/session.ts'
import { Page } from '../shell/page.tsx'
import { pipelineQueries } from '../trends/queries.ts'
import { formatShare } from '../trends/sentence.ts'
import { Strip } from '../trends/strip.tsx'
import { paths } from '../url/paths.ts'
import { useParam } from '../url/search.ts'
import styles from './pipelines.module.css'

export function Pipelines(): ReactElement {
  const state = useSession()
  const off = whyNot(state.kind === 'in' ? state.session : undefined, 'change-pipelines')
  return (
    <Page
      title="Pipelines"
      actions={
        off === undefined ? (
          <ButtonLink href={paths.newPipeline()} tone="primary">
            New pipeline
          </ButtonLink>
        ) : (
          <Button off={off}>New pipeline</Button>
        )
      }
    >
      <PipelineList />
    </Page>
  )
}

/** Pause in the typing after which the list is read again. Milliseconds. */
const PAUSE_MS = 200

function PipelineList(): ReactElement {
  const [, go] = useLocation()
  const [shownQuery, setQuery] = useParam('q')
  const [project, setProject] = useParam('project')
  const [written, setWritten] = useState(shownQuery ?? '')
  const q = useSettled(written.trim(), PAUSE_MS)
  const list = useInfiniteQuery(pipelineQueries.list({ ...(q !== '' && { q }), ...(project !== undefined && { project }) }))
  const { data: projects } = useQuery(pipelineQueries.projects())
  const pipelines = list.data?.pages.flatMap(({ items }) => items)
  const isFiltered = q !== '' || project !== undefined
  return (
    <div className={styles['stack']}>
      <div className={styles['filters']}>
        <Field
          label="Find a pipeline"
          type="search"
          maxLength={200}
          value={written}
          onChange={(event) => {
            setWritten(event.target.value)
            setQuery(event.target.value.trim() === '' ? undefined : event.target.value.trim())
          }}
        />
        {(projects?.items.length ?? 0) > 0 && (
          <label className={styles['project']}>
            Project
            <select value={project ?? ''} onChange={({ target }) => setProject(target.value === '' ? undefined : target.value)}>
              <option value="">All projects</option>
              {projects?.items.map(({ id, name }) => (
                <option key={id} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {list.isPending && <Loading rows={8} what="pipelines" />}
      {pipelines === undefined && list.error !== null && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {pipelines?.length === 0 &&
        (isFiltered ? (
          <Empty
            action={
              <Button
                onClick={() => {
                  setWritten('')
                  go(paths.pipelines(), { replace: true })
                }}
              >
                Show all pipelines
              </Button>
            }
          >
            No pipeline matches.
          </Empty>
        ) : (
          <Empty action={<Command text="windlass apply -f pipeline.yml" />}>
            There are no pipelines that you may see. <Link href={paths.newPipeline()}>Write the first one</Link>, or store a
            document.
          </Empty>
        ))}
      {pipelines !== undefined && pipelines.length > 0 && <PipelineTable pipelines={pipelines} />}
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more pipelines
        </Button>
      )}
      <Command text="windlass get pipelines" />
    </div>
  )
}

type Newest = PipelineActivity['builds'][number]

/** Returns the share of green builds among those that succeeded or failed. */
function shareOf(builds: readonly Newest[]): string {
  const judged = builds.filter(({ status }) => status === 'success' || status === 'error')
  return judged.length === 0 ? '' : formatShare(judged.filter(({ status }) => status === 'success').length / judged.length)
}

/** Returns the middle of the durations of the successful builds. */
function medianOf(builds: readonly Newest[]): string {
  const times = builds.flatMap(({ status, durationMs }) => (status === 'success' && durationMs !== undefined ? [durationMs] : []))
  const middle = percentile(times, 0.5)
  return middle === undefined ? '' : formatClock(middle)
}

function PipelineTable({ pipelines }: { readonly pipelines: readonly Pipeline[] }): ReactElement {
  return (
    <Table
      caption="Pipelines"
      rows={pipelines}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'Name',
          cell: ({ name }) => (
            <Link href={paths.pipeline(name)}>
              <bdi>{name}</bdi>
            </Link>
          ),
        },
        {
          head: 'Last builds',
          cell: ({ name, activity }) =>
            activity === undefined || activity.builds.length === 0 ? (
              <span className="quiet">no builds</span>
            ) : (
              <Strip builds={activity.builds} label={`Last builds of ${name}`} />
            ),
        },
        { head: 'Green', cell: ({ activity }) => shareOf(activity?.builds ?? []) },
        { head: 'Usual time', cell: ({ activity }) => medianOf(activity?.builds ?? []) },
        {
          head: 'Last build',
          cell: ({ activity }) => {
            const last = activity?.builds[0]
            return (
              last !== undefined && (
                <Link href={paths.build(last.id)} className={styles['last'] ?? ''}>
                  <Status look={lookOfBuild(last)} /> #{last.number}
                  {last.branch !== undefined && (
                    <>
                      {' '}
                      <bdi>{last.branch}</bdi>
                    </>
                  )}
                </Link>
              )
            )
          },
        },
        { head: 'Triggers', cell: ({ activity }) => activity?.triggers ?? '' },
        { head: 'Changed', cell: ({ updatedAt }) => <When at={updatedAt} /> },
      ]}
    />
  )
}
