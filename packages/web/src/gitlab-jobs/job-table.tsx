/** The table of jobs of GitLab. */
import { LIVE_GITLAB_STATES, type GitlabJob, type GitlabJobState } from '@windlass/protocol'
import { ExternalLink } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { useTime } from '../looks/clock.ts'
import { lookOfGitlabJob } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { formatExact, formatSpan } from '../looks/time.ts'
import cells from '../parts/cells.module.css'
import { Narrow } from '../parts/cells.tsx'
import { Table } from '../parts/table.tsx'
import { Tooltip } from '../parts/floating/tooltip.tsx'
import { When } from '../parts/when.tsx'
import type { GitlabFilter } from './queries.ts'

interface JobTableProps {
  readonly items: readonly GitlabJob[]
  readonly filter: GitlabFilter
  readonly onChange: (filter: GitlabFilter) => void
}

export function JobTable({ items, filter, onChange }: JobTableProps): ReactElement {
  const narrow = (name: 'runner' | 'project', value: string): ReactNode =>
    value === '' ? null : <Narrow name={name} value={value} onNarrow={() => onChange({ ...filter, [name]: value })} />
  return (
    <Table
      caption="Jobs"
      rows={items}
      keyOf={({ id }) => id}
      columns={[
        { head: 'State', cell: StateCell },
        { head: 'Job', cell: JobCell },
        {
          head: 'Project',
          cell: ({ project, ref }) => (
            <span className={cells['pair']}>
              {narrow('project', project)}
              {ref !== '' && <bdi className={cells['more']}>{ref}</bdi>}
            </span>
          ),
        },
        { head: 'Why', cell: ({ message }) => <bdi className={cells['why']}>{message ?? ''}</bdi> },
        { head: 'Pod', cell: PodCell },
        {
          head: 'Runner',
          cell: ({ runner, host }) => (
            <span className={cells['pair']}>
              {narrow('runner', runner)}
              <bdi className={cells['more']}>{host}</bdi>
            </span>
          ),
        },
        { head: 'Time', cell: TimeCell },
        { head: 'Received', cell: ({ receivedAt, createdAt }) => <When at={receivedAt ?? createdAt} /> },
      ]}
    />
  )
}

function StateCell({ state, since, endedAt, reason }: GitlabJob): ReactElement {
  return (
    <span className={cells['pair']}>
      <Status look={lookOfGitlabJob(state)} />
      <span className={cells['more']}>
        {isLive(state) ? <For since={since} /> : <Since state={state} since={endedAt ?? since} />}
      </span>
      {reason !== undefined && <bdi className={cells['more']}>{reason}</bdi>}
    </span>
  )
}

function isLive(state: GitlabJobState): boolean {
  return LIVE_GITLAB_STATES.some((one) => one === state)
}

function For({ since }: Pick<GitlabJob, 'since'>): ReactElement {
  const span = useTime((now) => formatSpan(Math.max(0, now - since)))
  return (
    <Tooltip text={formatExact(since)}>
      <time dateTime={new Date(since).toISOString()}>for {span}</time>
    </Tooltip>
  )
}

/** When a job ended, or since when its state is not known. */
function Since({ state, since }: Pick<GitlabJob, 'state' | 'since'>): ReactElement {
  return (
    <>
      {state === 'unknown' && 'since '}
      <When at={since} />
    </>
  )
}

/** The name leads to GitLab, which has the log. */
function JobCell({ url, name, number, stage }: GitlabJob): ReactElement {
  const label = name === '' ? `#${number}` : name
  return (
    <span className={cells['pair']}>
      {url === undefined ? (
        <bdi>{label}</bdi>
      ) : (
        <a href={url} target="_blank" rel="noreferrer" title="Open the job with its log at GitLab">
          <bdi>{label}</bdi> <ExternalLink size={12} role="img" aria-label="at GitLab" />
        </a>
      )}
      <bdi className={cells['more']}>
        #{number} {stage}
      </bdi>
    </span>
  )
}

function PodCell({ pod, namespace }: GitlabJob): ReactElement | null {
  if (pod === undefined) return null
  return (
    <span className={cells['pair']}>
      <bdi>
        <code>{pod}</code>
      </bdi>
      <bdi className={cells['more']}>{namespace ?? ''}</bdi>
    </span>
  )
}

/** Start and end are times of the manager. A running job is measured by when the server heard of it. */
function TimeCell({ state, since, startedAt, endedAt }: GitlabJob): ReactElement | null {
  const hasEnded = startedAt !== undefined && endedAt !== undefined
  const span = useTime((now) => formatSpan(Math.max(0, hasEnded ? endedAt - startedAt : now - since)))
  if (!hasEnded && state !== 'running') return null
  return <span className={cells['pair']}>{span}</span>
}
