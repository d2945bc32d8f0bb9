/** The kind of jobs of GitLab runners: its calls and columns. */
import { formatDuration } from '@windlass/plan'
import type { GitlabJob } from '@windlass/protocol'
import { paintStatus } from '../format/style.ts'
import { formatAge, formatTime } from '../format/time.ts'
import { age, type Kind, type RenderContext } from './kind.ts'

export const gitlabJobs: Kind<GitlabJob> = {
  name: 'gitlab-jobs',
  singular: 'gitlab-job',
  of: ({ gitlabJobs: { list, get } }) => ({
    list: ({ query: { limit, cursor, gitlabJobs: filter } }) => list({ query: { limit, cursor, ...filter } }),
    get,
  }),
  nameOf: ({ id }) => id,
  columns: {
    ID: ({ id }) => id,
    NUMBER: ({ number }) => String(number),
    PROJECT: ({ project }) => project,
    JOB: ({ name }) => name,
    STATE: ({ state }, { style }) => paintStatus(style, state),
    REASON: ({ reason }) => reason ?? '',
    RUNNER: ({ runner }) => runner,
    POD: ({ pod }) => pod ?? '',
    TIME: durationOf,
    AGE: age,
    WHY: ({ message }) => message ?? '',
  },
  wide: {
    STAGE: ({ stage }) => stage,
    REF: ({ ref }) => ref,
    NAMESPACE: ({ namespace }) => namespace ?? '',
    HOST: ({ host }) => host,
    SINCE: ({ since }, { now }) => formatAge(since, now),
    CREATED: ({ createdAt }) => formatTime(createdAt),
    URL: ({ url }) => url ?? '',
  },
}

/** Both times are those of the manager. A running job has no end yet, so it is measured by when the server heard of it. */
function durationOf({ startedAt, endedAt, since, state }: GitlabJob, { now }: RenderContext): string {
  if (startedAt !== undefined && endedAt !== undefined) return formatDuration(Math.max(0, endedAt - startedAt))
  return state === 'running' ? formatDuration(Math.max(0, now - since)) : ''
}
