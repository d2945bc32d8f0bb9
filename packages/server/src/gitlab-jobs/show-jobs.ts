/** Jobs of GitLab and their managers as callers see them. */
import { defined, fault, isId } from '@windlass/kit'
import {
  GitlabManagerId,
  GITLAB_SILENT_MS,
  LIVE_GITLAB_STATES,
  ReportedGitlabJob,
  type GitlabJob,
  type GitlabJobQuery,
  type GitlabManager,
  type PageQuery,
} from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { foreignCursor } from '../store/cursor.ts'
import {
  countGitlabManagers,
  countLiveGitlabJobs,
  findGitlabJob,
  listGitlabJobs,
  listGitlabManagers,
} from '../store/runtimes/gitlab-jobs.ts'
import type { GitlabJobRow, GitlabManagerRow } from '../store/schema/schema.ts'
import { ManagerFacts } from './take-report.ts'

interface Page<T> {
  readonly items: T[]
  readonly next?: string
}

/** Returns a page of jobs, newest first. Throws `request-invalid` for a cursor of another list. */
export async function listGitlabJobPage(app: App, query: z.output<typeof GitlabJobQuery>): Promise<Page<GitlabJob>> {
  const { cursor, limit, state, runner, project } = query
  if (cursor !== undefined && !isId(cursor)) throw foreignCursor()
  const filter = { accountId: app.accountId, state, runner, project, silentBefore: silentBefore(app), after: cursor }
  const rows = await listGitlabJobs(app.store.query, { ...filter, limit: limit + 1 })
  const items = rows.slice(0, limit).map((row) => toGitlabJob(app, row))
  return { items, ...defined({ next: rows.length > limit ? items.at(-1)?.id : undefined }) }
}

/** Returns a job. Throws `not-found`. */
export async function showGitlabJob(app: App, id: string): Promise<GitlabJob> {
  const row = await findGitlabJob(app.store.query, app.accountId, id)
  if (row === undefined)
    throw fault('not-found', {
      message: `The job "${id}" does not exist.`,
      hint: 'List the ids with `windlass get gitlab-jobs`.',
    })
  return toGitlabJob(app, row)
}

/** Returns a page of managers, by their system IDs. Throws `request-invalid` for a cursor of another list. */
export async function listGitlabManagerPage(
  app: App,
  { cursor, limit }: z.output<typeof PageQuery>,
): Promise<Page<GitlabManager>> {
  const { query } = app.store
  if (cursor !== undefined && !GitlabManagerId.safeParse(cursor).success) throw foreignCursor()
  const rows = await listGitlabManagers(query, { accountId: app.accountId, after: cursor, limit: limit + 1 })
  const live = await countLiveGitlabJobs(query, app.accountId, silentBefore(app))
  const items = rows.slice(0, limit).map((row) => toManager(app, row, live.get(row.id) ?? 0))
  return { items, ...defined({ next: rows.length > limit ? items.at(-1)?.id : undefined }) }
}

/** Returns the number of jobs that run or wait; undefined if no manager is known. */
export async function countShownGitlabJobs(app: App): Promise<number | undefined> {
  const { query } = app.store
  if ((await countGitlabManagers(query, app.accountId)) === 0) return undefined
  const live = await countLiveGitlabJobs(query, app.accountId, silentBefore(app))
  return [...live.values()].reduce((sum, count) => sum + count, 0)
}

/** A job or manager that was last reported before this time is silent. */
function silentBefore(app: App): number {
  return app.clock.now() - GITLAB_SILENT_MS
}

function toManager(app: App, row: GitlabManagerRow, jobs: number): GitlabManager {
  return {
    ...ManagerFacts.parse(JSON.parse(row.facts)),
    id: row.id,
    status: row.seen_at < silentBefore(app) ? 'offline' : 'online',
    ...defined({ key: row.key_name === '' ? undefined : row.key_name }),
    jobs,
    seenAt: row.seen_at,
    createdAt: row.created_at,
  }
}

function toGitlabJob(app: App, row: GitlabJobRow): GitlabJob {
  const { state, ...facts } = ReportedGitlabJob.parse(JSON.parse(row.facts))
  const job = {
    ...facts,
    id: row.id,
    state,
    since: row.state_since,
    manager: row.manager,
    host: row.host,
    createdAt: row.created_at,
    reportedAt: row.seen_at,
  }
  const lastState = LIVE_GITLAB_STATES.find((one) => one === state)
  if (lastState === undefined || row.seen_at >= silentBefore(app)) return job
  const message = `The manager on ${row.host} has not reported the job since ${new Date(row.seen_at).toISOString()}. It was ${lastState} then. Check the manager, or open the job at GitLab.`
  return { ...job, state: 'unknown', lastState, since: row.seen_at, message }
}
