/**
 * Takes the reports of managers of GitLab runners (docs/development/adr/0123). For display only: no build depends on them. A report can repeat and come late, so
 * it only moves jobs forward: a job that has ended stays as it ended, and a job that a report lacks keeps its state until it is silent for too long.
 */
import { defined, fault, newId } from '@windlass/kit'
import {
  ENDED_GITLAB_STATES,
  GITLAB_SILENT_MS,
  GitlabReport,
  ReportedGitlabJob,
  type GitlabReportAnswer,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import type { Actor } from '../identity/actor.ts'
import {
  countGitlabJobs,
  countGitlabManagers,
  deleteOldestGitlabJobs,
  deleteOldGitlabManagers,
  insertGitlabJobs,
  lockGitlabJobs,
  lockGitlabManager,
  saveGitlabManager,
  touchGitlabJobs,
  updateGitlabJob,
} from '../store/runtimes/gitlab-jobs.ts'
import type { GitlabJobRow, GitlabManagerRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'

/** Topic that is woken when jobs change. */
export const GITLAB_TOPIC = 'gitlab-jobs'

/** Stored managers. Those that have not reported for the time of the retention are deleted, and earlier if there are too many. */
const MAX_MANAGERS = 200
/** Stored jobs above which the oldest ones that have ended are deleted, and above which no more are added. */
const MAX_JOBS = 10_000
const MAX_STORED = 2 * MAX_JOBS

/**
 * Returns the name of the key of a manager. Throws `request-invalid` for a key that may do more than report: it would lie in the cluster of the manager, where
 * people who may not use the server can read it.
 */
export function requireReporter(actor: Actor): string {
  if (actor.kind === 'key' && actor.scopes?.length === 1 && actor.scopes[0] === 'gitlab-report:write') return actor.name
  throw fault('request-invalid', {
    message: 'Only a key that is limited to the scope gitlab-report:write can report jobs of GitLab.',
    hint: 'Create one with `windlass create key NAME --role maintainer --scope gitlab-report:write`.',
  })
}

/** What is stored of a report besides its jobs, with the agent that passed it on. */
export const ManagerFacts = GitlabReport.omit({ instance: true, seq: true, jobs: true, hasMore: true }).extend({
  agent: z.string().optional(),
})

/** Who sent a report: the key of a manager, or the agent that passes it on. Their names. */
export type Reporter = { readonly key: string } | { readonly agent: string }

interface Taken {
  readonly id: string
  readonly from: Reporter
  readonly report: GitlabReport
}

/** Stores a report. One that came late is ignored. Throws `conflict` if there are too many managers. */
export async function takeGitlabReport(app: App, { id, from, report }: Taken): Promise<GitlabReportAnswer> {
  const { instance, seq, jobs, hasMore: _, ...facts } = report
  return app.store.write(async (tx) => {
    const now = app.clock.now()
    const before = await lockGitlabManager(tx, app.accountId, id)
    if (before?.instance === instance && seq <= before.seq) return { seq: before.seq }
    if (before === undefined) await requireRoom(app, tx)
    else requireOwn(before, from, now)
    await saveGitlabManager(tx, {
      account_id: app.accountId,
      id,
      instance,
      seq,
      key_name: 'key' in from ? from.key : '',
      facts: JSON.stringify('agent' in from ? { ...facts, agent: from.agent } : facts),
      seen_at: now,
      created_at: before?.created_at ?? now,
    })
    const isChanged = await applyJobs(app, tx, { manager: id, host: facts.host, jobs, now })
    if (isChanged || before === undefined) tx.wake(GITLAB_TOPIC)
    return { seq }
  })
}

/**
 * Throws `forbidden` if an agent reports a manager that another agent or a key reports. Whoever may report with a key has the right to do so for all managers; an agent
 * passes on what is in its pod.
 */
function requireOwn(before: GitlabManagerRow, from: Reporter, now: number): void {
  if ('key' in from || before.seen_at < now - GITLAB_SILENT_MS) return
  const { agent } = ManagerFacts.parse(JSON.parse(before.facts))
  if (agent === from.agent) return
  throw fault('forbidden', {
    message: `The manager ${before.id} reports ${agent === undefined ? 'with a key' : `through the agent ${agent}`}.`,
    hint: 'It can report in another way when it has been silent for some minutes.',
  })
}

/** Silent managers make room for a new one. */
async function requireRoom(app: App, tx: Tx): Promise<void> {
  if ((await countGitlabManagers(tx.query, app.accountId)) < MAX_MANAGERS) return
  await deleteOldGitlabManagers(tx, app.clock.now() - GITLAB_SILENT_MS)
  if ((await countGitlabManagers(tx.query, app.accountId)) < MAX_MANAGERS) return
  throw fault('conflict', {
    message: `The account already has ${MAX_MANAGERS} managers of GitLab runners that report.`,
    hint: 'Connect fewer managers.',
  })
}

interface Applied {
  readonly manager: string
  readonly host: string
  readonly jobs: readonly ReportedGitlabJob[]
  readonly now: number
}

/** Applies the jobs of a report. Returns true if what callers see of them has changed. */
async function applyJobs(app: App, tx: Tx, { manager, host, jobs, now }: Applied): Promise<boolean> {
  const rows: GitlabJobRow[] = []
  // In one order, so that two reports do not wait for each other.
  for (const gitlab of [...new Set(jobs.map((job) => job.gitlab))].toSorted()) {
    const numbers = new Set(jobs.flatMap((job) => (job.gitlab === gitlab ? [job.number] : [])))
    rows.push(...(await lockGitlabJobs(tx, { accountId: app.accountId, gitlab, numbers: [...numbers] })))
  }
  const known = new Map(rows.map((row) => [keyOf(row), row]))
  // If a report has a job twice, its first end counts, or else the last one.
  const reported = new Map<string, ReportedGitlabJob>()
  for (const job of jobs) {
    const had = reported.get(keyOf(job))
    if (had === undefined || !isEnded(had.state)) reported.set(keyOf(job), job)
  }
  const added: GitlabJobRow[] = []
  const same: string[] = []
  let isChanged = false
  for (const [key, job] of reported) {
    const row = known.get(key)
    if (row === undefined) {
      const { gitlab, number } = job
      const own = { id: newId(now), account_id: app.accountId, gitlab, number, created_at: now }
      added.push({ ...own, ...columnsOf(job), manager, host, state_since: sinceOf(job, now), seen_at: now })
      continue
    }
    if (isEnded(row.state)) continue
    const columns = columnsOf(merge(row, job))
    const isKnown = columns.facts === row.facts && row.manager === manager && row.host === host
    if (isKnown && row.seen_at >= now - GITLAB_SILENT_MS) {
      same.push(row.id)
      continue
    }
    isChanged = true
    const since = row.state === job.state ? row.state_since : sinceOf(job, now)
    await updateGitlabJob(tx, row.id, { ...columns, manager, host, state_since: since, seen_at: now })
  }
  await touchGitlabJobs(tx, same, now)
  return (await addJobs(app, tx, { added, now })) || isChanged
}

/** Adds jobs as far as there is room for them, which old ones make. */
async function addJobs(
  app: App,
  tx: Tx,
  { added, now }: { readonly added: readonly GitlabJobRow[]; readonly now: number },
): Promise<boolean> {
  if (added.length === 0) return false
  const { accountId } = app
  const count = (await countGitlabJobs(tx.query, accountId)) + added.length
  const excess = count - MAX_JOBS
  const deleted =
    excess <= 0 ? 0 : await deleteOldestGitlabJobs(tx, { accountId, silentBefore: now - GITLAB_SILENT_MS, limit: excess })
  const room = Math.max(0, added.length - Math.max(0, count - deleted - MAX_STORED))
  if (room < added.length)
    app.log.warn({ jobs: added.length - room }, 'too many jobs of GitLab are stored; new ones are left out')
  await insertGitlabJobs(tx, added.slice(0, room))
  return true
}

/** Adds what an earlier report has: a manager that continues the job of another one may not know its name, nor when it started. */
function merge({ facts }: GitlabJobRow, job: ReportedGitlabJob): ReportedGitlabJob {
  const before = ReportedGitlabJob.parse(JSON.parse(facts))
  const { name, project, stage, ref, url, receivedAt, startedAt } = before
  return ReportedGitlabJob.parse({
    ...job,
    ...(job.name === '' && { name, project, stage, ref }),
    ...defined({ url: job.url ?? url, receivedAt: receivedAt ?? job.receivedAt, startedAt: startedAt ?? job.startedAt }),
  })
}

function columnsOf(job: ReportedGitlabJob): Pick<GitlabJobRow, 'runner' | 'project' | 'state' | 'facts'> {
  return { runner: job.runner, project: job.project, state: job.state, facts: JSON.stringify(job) }
}

/** Returns since when a job has a new state. Its end can be long ago if the server was away. */
function sinceOf({ endedAt = Infinity }: ReportedGitlabJob, now: number): number {
  return Math.min(now, endedAt)
}

function isEnded(state: GitlabJobRow['state']): boolean {
  return ENDED_GITLAB_STATES.some((one) => one === state)
}

function keyOf({ gitlab, number }: Pick<ReportedGitlabJob, 'gitlab' | 'number'>): string {
  return `${gitlab} ${number}`
}
