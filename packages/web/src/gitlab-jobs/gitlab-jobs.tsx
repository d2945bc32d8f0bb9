/** The jobs of GitLab runners: what they wait for, where they run, and how they ended. Their logs are at GitLab. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import { GITLAB_JOB_STATES, type GitlabManager } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { useLocation, useSearch } from 'wouter'
import { useNow } from '../looks/clock.ts'
import { lookOfGitlabJob } from '../looks/states.ts'
import { formatSpan } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import filters from '../parts/filters.module.css'
import { FilterChip, StateButtons } from '../parts/filters.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { Page } from '../shell/page.tsx'
import { paths } from '../url/paths.ts'
import { JobTable } from './job-table.tsx'
import { gitlabQueries, type GitlabFilter } from './queries.ts'

export function GitlabJobs(): ReactElement {
  const filter = readFilter(useSearch())
  const [, go] = useLocation()
  const change = (next: GitlabFilter): void => go(paths.gitlabJobs() + writeFilter(next))
  return (
    <Page title="GitLab jobs">
      <FilterBar filter={filter} onChange={change} />
      <Managers />
      <JobList filter={filter} onChange={change} />
    </Page>
  )
}

function readFilter(search: string): GitlabFilter {
  const params = new URLSearchParams(search)
  const [runner = '', project = ''] = [params.get('runner')?.trim(), params.get('project')?.trim()]
  const state = GITLAB_JOB_STATES.find((one) => one === params.get('state'))
  return { ...(state !== undefined && { state }), ...(runner !== '' && { runner }), ...(project !== '' && { project }) }
}

function writeFilter(filter: GitlabFilter): string {
  const text = new URLSearchParams(Object.entries(filter)).toString()
  return text === '' ? '' : `?${text}`
}

interface FilterProps {
  readonly filter: GitlabFilter
  readonly onChange: (filter: GitlabFilter) => void
}

const STATES = [undefined, ...GITLAB_JOB_STATES].map((value) => ({
  value,
  label: value === undefined ? 'All' : lookOfGitlabJob(value).word,
}))

function FilterBar({ filter, onChange }: FilterProps): ReactElement {
  const { state: current, ...rest } = filter
  return (
    <div className={filters['filters']}>
      <StateButtons
        label="State"
        choices={STATES}
        current={current}
        onChoose={(state) => onChange(state === undefined ? rest : { ...rest, state })}
      />
      {(['runner', 'project'] as const).map((name) => {
        const { [name]: value, ...others } = filter
        return value !== undefined && <FilterChip key={name} name={name} value={value} onDrop={() => onChange(others)} />
      })}
    </div>
  )
}

/** The managers that have reported, and whether they still do. */
function Managers(): ReactElement | null {
  const { data } = useQuery(gitlabQueries.managers())
  const now = useNow()
  if (data === undefined || data.length === 0) return null
  return (
    <p className={layout['facts']}>
      <span>{plural(data.length, 'manager')}:</span>
      {data.map((manager) => (
        <bdi key={manager.id}>{describeManager(manager, now)}</bdi>
      ))}
    </p>
  )
}

function describeManager({ host, status, jobs, concurrent, isAsking, seenAt }: GitlabManager, now: number): string {
  if (status !== 'online') return `${host} (silent for ${formatSpan(Math.max(0, now - seenAt))})`
  return `${host} (${jobs} of ${plural(concurrent, 'job')}${isAsking ? '' : ', asks for no more'})`
}

function JobList({ filter, onChange }: FilterProps): ReactElement {
  const list = useInfiniteQuery(gitlabQueries.jobs(filter))
  const managers = useQuery(gitlabQueries.managers())
  if (list.isPending || managers.isPending) return <Loading rows={5} what="jobs" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const items = list.data.pages.flatMap((page) => page.items)
  if (items.length === 0 && Object.keys(filter).length === 0)
    return (managers.data?.length ?? 0) > 0 ? <Empty>No job has been reported yet.</Empty> : <Connect />
  return (
    <div className={layout['stack']}>
      {items.length === 0 ? (
        <Empty action={<Button onClick={() => onChange({})}>Show all jobs</Button>}>No jobs match.</Empty>
      ) : (
        <JobTable items={items} filter={filter} onChange={onChange} />
      )}
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more jobs
        </Button>
      )}
      <Command text={commandOf(filter)} />
    </div>
  )
}

/** Returns the command that lists the same jobs. */
function commandOf({ state, runner, project }: GitlabFilter): string {
  const flags = Object.entries({ status: state, runner, project }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  return sh`windlass get gitlab-jobs ${flags}`
}

/** How to connect a manager. Helm users set `controlPlane` of the chart. */
function Connect(): ReactElement {
  return (
    <Empty
      action={
        <div className={layout['tight']}>
          <p>
            Create a key that can only report jobs, save it in a file, and start the manager with it. The chart
            windlass-gitlab-runner takes the same in <code>controlPlane</code>.
          </p>
          <Command text="windlass create key gitlab-runner --role maintainer --scope gitlab-report:write" />
          <Command text={`windlass gitlab run --server-url ${location.origin} --server-token-file key`} />
          <p>The same list on the command line:</p>
          <Command text="windlass get gitlab-jobs" />
        </div>
      }
    >
      No manager of GitLab runners has reported a job yet.
    </Empty>
  )
}
