/** Deletes builds and logs because of their age, and because of the quotas of projects. */
import type { App } from './app.ts'
import { listRetainedProjects } from './store/account/projects.ts'
import { deleteOldBuilds, deleteOldLogs, findExcessBuild, findExcessLog, type OldBuilds } from './store/retention.ts'
import type { ProjectRow } from './store/schema.ts'

const DAY_MS = 86_400_000
/** Builds per transaction. A build may have tens of thousands of chunks, and a transaction must end well within the statement timeout. */
const BUILDS = 20

/** What is deleted, and the quota that is the reason. Undefined for the settings of the server. */
interface Deletion {
  readonly what: 'logs' | 'builds'
  readonly which: OldBuilds
  readonly quota?: { readonly project: string; readonly name: string; readonly value: number }
}

/** Deletes logs and builds that are old, first the logs. Stops early when the server closes. */
export async function retainBuilds(app: App, now: number): Promise<void> {
  const projects = await listRetainedProjects(app.store.query, app.accountId)
  const { buildDays, logDays } = app.retention
  const withOwn = (column: 'build_days' | 'log_days'): string[] =>
    projects.filter((project) => project[column] !== null).map(({ id }) => id)
  await deleteAll(app, { what: 'logs', which: { before: now - logDays * DAY_MS, except: withOwn('log_days') } }, now)
  for (const project of projects) await retainLogsOf(app, project, now)
  await deleteAll(app, { what: 'builds', which: { before: now - buildDays * DAY_MS, except: withOwn('build_days') } }, now)
  for (const project of projects) await retainBuildsOf(app, project, now)
}

async function retainLogsOf(
  app: App,
  { id, name: project, log_days: days, max_log_bytes: bytes }: ProjectRow,
  now: number,
): Promise<void> {
  if (days !== null) {
    const quota = { project, name: 'logDays', value: days }
    await deleteAll(app, { what: 'logs', which: { before: now - days * DAY_MS, projectId: id }, quota }, now)
  }
  const upTo = bytes === null ? undefined : await findExcessLog(app.store.query, id, bytes)
  if (bytes === null || upTo === undefined) return
  await deleteAll(
    app,
    { what: 'logs', which: { projectId: id, upTo }, quota: { project, name: 'maxLogBytes', value: bytes } },
    now,
  )
}

async function retainBuildsOf(
  app: App,
  { id, name: project, build_days: days, max_builds: count }: ProjectRow,
  now: number,
): Promise<void> {
  if (days !== null) {
    const quota = { project, name: 'buildDays', value: days }
    await deleteAll(app, { what: 'builds', which: { before: now - days * DAY_MS, projectId: id }, quota }, now)
  }
  const upTo = count === null ? undefined : await findExcessBuild(app.store.query, id, count)
  if (count === null || upTo === undefined) return
  await deleteAll(
    app,
    { what: 'builds', which: { projectId: id, upTo }, quota: { project, name: 'maxBuilds', value: count } },
    now,
  )
}

/** Deletes in transactions of a few builds. Logs the number of builds and the quota, if there is one. */
async function deleteAll(app: App, { what, which, quota }: Deletion, now: number): Promise<void> {
  const remove = what === 'logs' ? deleteOldLogs : deleteOldBuilds
  let deleted = 0
  for (let last = 1; last > 0 && !app.closing.aborted; deleted += last)
    last = await app.store.write((tx) => remove(tx, { which, limit: BUILDS, now }))
  if (deleted > 0 && quota !== undefined)
    app.log.info(
      { project: quota.project, quota: quota.name, value: quota.value, builds: deleted },
      `deleted ${what} because of a quota`,
    )
}
