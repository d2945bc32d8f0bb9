/** Deletes builds and logs because of their age, and because of the quotas of projects. */
import { attempt } from '@windlass/kit'
import type { App } from './app.ts'
import { listRetainedProjects } from './store/pipelines/projects.ts'
import { deleteOldBuilds, deleteOldLogs, findExcessBuild, findExcessLog, type OldBuilds } from './store/retention.ts'
import type { ProjectRow } from './store/schema/schema.ts'

const DAY_MS = 86_400_000
/** Builds per transaction. A build may have tens of thousands of chunks, and a transaction must end well within the statement timeout. */
const BUILDS = 20

/** What is deleted, and the quota that is the reason. Undefined for the settings of the server. */
interface Deletion {
  readonly what: 'logs' | 'builds'
  readonly which: OldBuilds
  readonly quota?: { readonly project: string; readonly name: string; readonly value: number }
}

/**
 * Deletes logs and builds that are old, first the logs. Stops early when the server closes. A deletion that fails is logged and does not keep the others from
 * running.
 */
export async function retainBuilds(app: App, now: number): Promise<void> {
  const projects = await listRetainedProjects(app.store.query, app.accountId)
  for (const what of ['logs', 'builds'] as const) {
    const [days, column] =
      what === 'logs' ? [app.retention.logDays, 'log_days' as const] : [app.retention.buildDays, 'build_days' as const]
    const except = projects.filter((project) => project[column] !== null).map(({ id }) => id)
    await attempt(app.log, `retention of ${what}`, () =>
      deleteAll(app, { what, which: { before: now - days * DAY_MS, except } }, now),
    )
    for (const project of projects) {
      await attempt(app.log, `retention of ${what} by age in ${project.name}`, () => deleteAged(app, { what, project }, now))
      await attempt(app.log, `retention of ${what} by amount in ${project.name}`, () => deleteExcess(app, { what, project }, now))
    }
  }
}

interface OfProject {
  readonly what: Deletion['what']
  readonly project: ProjectRow
}

async function deleteAged(app: App, { what, project: { id, name: project, ...row } }: OfProject, now: number): Promise<void> {
  const days = what === 'logs' ? row.log_days : row.build_days
  if (days === null) return
  const quota = { project, name: what === 'logs' ? 'logDays' : 'buildDays', value: days }
  await deleteAll(app, { what, which: { before: now - days * DAY_MS, projectId: id }, quota }, now)
}

async function deleteExcess(app: App, { what, project: { id, name: project, ...row } }: OfProject, now: number): Promise<void> {
  const value = what === 'logs' ? row.max_log_bytes : row.max_builds
  if (value === null) return
  const find = what === 'logs' ? findExcessLog : findExcessBuild
  const upTo = await find(app.store.query, id, value)
  if (upTo === undefined) return
  const quota = { project, name: what === 'logs' ? 'maxLogBytes' : 'maxBuilds', value }
  await deleteAll(app, { what, which: { projectId: id, upTo }, quota }, now)
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
