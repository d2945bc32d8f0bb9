/** The table of jobs of GitLab. */
import { LIVE_GITLAB_STATES, type GitlabJob, type GitlabJobState } from '@windlass/protocol'
import { ExternalLink } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { useTime } from '../looks/clock.ts'
import { lookOfGitlabJob } from '../looks/states.ts'
import { Status } from '../looks/status.tsx'
import { formatExact, formatSpan } from '../looks/time.ts'
import { Table } from '../parts/table.tsx'
import { Tooltip } from '../parts/floating/tooltip.tsx'
import { When } from '../parts/when.tsx'
import styles from './gitlab-jobs.module.css'
import type { GitlabFilter } from './queries.ts'

interface JobTableProps {
  readonly items: readonly GitlabJob[]
  readonly filter: GitlabFilter
  readonly onChange: (filter: GitlabFilter) => void
}

export function JobTable({ items, filter, onChange }: JobTableProps): ReactElement {
  const narrow = (name: 'runner' | 'project', value: string): ReactNode =>
    value === '' ? null : (
      <button
        type="button"
        className={styles['narrow']}
        aria-label={`Show only the ${name} ${value}`}
        onClick={() => onChange({ ...filter, [name]: value })}
      >
        <bdi>{value}</bdi>
      </button>
    )
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
            <span className={styles['pair']}>
              {narrow('project', project)}
              {ref !== '' && <bdi className={styles['more']}>{ref}</bdi>}
            </span>
          ),
        },
        { head: 'Why', cell: ({ message }) => <bdi className={styles['why']}>{message ?? ''}</bdi> },
        { head: 'Pod', cell: PodCell },
        {
          head: 'Runner',
          cell: ({ runner, host }) => (
            <span className={styles['pair']}>
              {narrow('runner', runner)}
              <bdi className={styles['more']}>{host}</bdi>
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
    <span className={styles['pair']}>
      <Status look={lookOfGitlabJob(state)} />
      <span className={styles['more']}>
        {isLive(state) ? <For since={since} /> : <Since state={state} since={endedAt ?? since} />}
      </span>
      {reason !== undefined && <bdi className={styles['more']}>{reason}</bdi>}
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
    <span className={styles['pair']}>
      {url === undefined ? (
        <bdi>{label}</bdi>
      ) : (
        <a href={url} target="_blank" rel="noreferrer" title="Open the job with its log at GitLab">
          <bdi>{label}</bdi> <ExternalLink size={12} role="img" aria-label="at GitLab" />
        </a>
      )}
      <bdi className={styles['more']}>
        #{number} {stage}
      </bdi>
    </span>
  )
}

function PodCell({ pod, namespace }: GitlabJob): ReactElement | null {
  if (pod === undefined) return null
  return (
    <span className={styles['pair']}>
      <bdi>
        <code>{pod}</code>
      </bdi>
      <bdi className={styles['more']}>{namespace ?? ''}</bdi>
    </span>
  )
}

/** Start and end are times of the manager. A running job is measured by when the server heard of it. */
function TimeCell({ state, since, startedAt, endedAt }: GitlabJob): ReactElement | null {
  const hasEnded = startedAt !== undefined && endedAt !== undefined
  const span = useTime((now) => formatSpan(Math.max(0, hasEnded ? endedAt - startedAt : now - since)))
  if (!hasEnded && state !== 'running') return null
  return <span className={styles['pair']}>{span}</span>
}
