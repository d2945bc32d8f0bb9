/** Applications as callers see them. */
import { defined, fault, isId } from '@windlass/kit'
import { REPORTER_SILENT_MS, type Application, type ApplicationDetails, type ApplicationQuery } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { CursorText, readCursor, writeCursor } from '../../store/cursor.ts'
import {
  findApplication,
  findListed,
  listApplications,
  listReportTimes,
  SORT_COLUMNS,
  sumApplications,
  type ListedApplication,
} from '../../store/runtimes/applications.ts'
import { listNames } from '../../store/runtimes/application-names.ts'
import { findGitopsRuntime, listGitopsRuntimeNames } from '../../store/runtimes/gitops.ts'
import { unknownRuntime } from '../runtimes.ts'
import { ApplicationFacts, ApplicationResources } from './stored-facts.ts'

interface Page {
  readonly items: Application[]
  readonly next?: string
}

/** Returns a page of applications. Throws `not-found` for an unknown runtime, and `request-invalid` for a cursor of another list. */
export async function listApplicationPage(app: App, given: ApplicationQuery): Promise<Page> {
  const { cursor, limit, runtime, q: part, ...filter } = given
  const { query } = app.store
  const found = runtime === undefined ? undefined : await findGitopsRuntime(query, app.accountId, runtime)
  if (runtime !== undefined && found === undefined) unknownRuntime(runtime)
  const after = cursor === undefined ? undefined : placeIn(cursor, filter.sort)
  const rows = await listApplications(query, {
    ...filter,
    accountId: app.accountId,
    runtimeId: found?.id,
    part,
    after,
    limit: limit + 1,
  })
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const view = await openView(app)
  const next =
    rows.length > limit && last !== undefined
      ? writeCursor([filter.sort, last[SORT_COLUMNS[filter.sort].column], last.id])
      : undefined
  return { items: shown.map((row) => view(row)), ...defined({ next }) }
}

/** Names that are read for one list. A runtime has no more applications. */
const MAX_NAMES = 5_000

export interface NamesQuery {
  /** Absent: all runtimes. */
  readonly runtime?: string | undefined
  readonly name?: string | undefined
  /** What the applications are for their runtimes. */
  readonly entity?: string | undefined
}

export interface ApplicationPath {
  readonly id: string
  /** RUNTIME/NAMESPACE/NAME */
  readonly path: string
}

/** Lists applications by name without reading them. Throws `not-found` for an unknown runtime, and `request-invalid` if there are too many. */
export async function listApplicationNames(app: App, { runtime, ...filter }: NamesQuery): Promise<ApplicationPath[]> {
  const { query } = app.store
  const found = runtime === undefined ? undefined : await findGitopsRuntime(query, app.accountId, runtime)
  if (runtime !== undefined && found === undefined) unknownRuntime(runtime)
  const runtimes = await listGitopsRuntimeNames(query, app.accountId)
  const rows = await listNames(query, { ...filter, accountId: app.accountId, runtimeId: found?.id, limit: MAX_NAMES + 1 })
  if (rows.length > MAX_NAMES)
    throw fault('request-invalid', {
      message: `There are more than ${MAX_NAMES} such applications.`,
      hint: 'Name a runtime.',
    })
  return rows.map((row) => ({ id: row.id, path: `${runtimes.get(row.runtime_id) ?? ''}/${row.namespace}/${row.name}` }))
}

/** What the navigation of the page shows of applications. */
export interface ApplicationSums {
  /** Applications that are degraded or missing. */
  readonly unwell: number
  /** Differs if an application was added or removed, or has another state. */
  readonly stamp: string
}

/** Returns undefined if the account has no GitOps runtime. */
export async function sumShownApplications({ store, accountId }: App): Promise<ApplicationSums | undefined> {
  const runtimes = await listGitopsRuntimeNames(store.query, accountId)
  if (runtimes.size === 0) return undefined
  const { count, unwell, changedAt } = await sumApplications(store.query, accountId)
  return { unwell, stamp: `${runtimes.size} ${count} ${unwell} ${changedAt}` }
}

function placeIn(cursor: string, sort: ApplicationQuery['sort']): { readonly value: string | number; readonly id: string } {
  const value = sort === 'name' ? CursorText : z.int()
  const [, at, id] = readCursor(cursor, z.tuple([z.literal(sort), value, CursorText]))
  return { value: at, id }
}

/** Returns an application by its id, or by RUNTIME/NAMESPACE/NAME. Throws `not-found`. */
export async function showApplication(app: App, name: string): Promise<ApplicationDetails> {
  const row = await findNamed(app, name)
  if (row === undefined)
    throw fault('not-found', {
      message: `The application "${name}" does not exist.`,
      hint: 'List the applications with `windlass get applications`.',
    })
  const view = await openView(app)
  return { ...view(row), resources: ApplicationResources.parse(JSON.parse(row.resources)) }
}

async function findNamed({ store, accountId }: App, text: string): ReturnType<typeof findApplication> {
  if (isId(text)) return findApplication(store.query, accountId, { id: text })
  const [runtimeName = '', namespace = '', name = '', ...rest] = text.split('/')
  const runtime = rest.length > 0 ? undefined : await findGitopsRuntime(store.query, accountId, runtimeName)
  return runtime && findApplication(store.query, accountId, { runtimeId: runtime.id, namespace, name })
}

/** Returns applications that are not gone, by id. */
export async function viewApplications(app: App, ids: readonly string[]): Promise<ReadonlyMap<string, Application>> {
  const rows = await findListed(app.store.query, ids)
  const view = await openView(app)
  return new Map(rows.map((row) => [row.id, view(row)]))
}

/** Reads what applications share. Returns what callers see of a row. */
async function openView(app: App): Promise<(row: ListedApplication) => Application> {
  const { query } = app.store
  const now = app.clock.now()
  const runtimes = await listGitopsRuntimeNames(query, app.accountId)
  const reports = await listReportTimes(query, app.accountId)
  return (row) => {
    const { longSyncMinutes, why, ...facts } = ApplicationFacts.parse(JSON.parse(row.facts))
    const runtime = runtimes.get(row.runtime_id) ?? ''
    const heardAt = reports.get(row.runtime_id)?.seenAt ?? row.reported_at
    const silentSince = now - heardAt > REPORTER_SILENT_MS ? heardAt : undefined
    const sentences = [
      silentSince === undefined
        ? undefined
        : `The runtime "${runtime}" has not reported since ${new Date(silentSince).toISOString()}, so this may be out of date.`,
      longSyncOf(facts.operation, longSyncMinutes, now),
      why,
    ]
    return {
      ...facts,
      id: row.id,
      runtime,
      namespace: row.namespace,
      name: row.name,
      project: row.project,
      health: row.health,
      sync: row.sync,
      ...defined({ silentSince, why: sentences.filter((sentence) => sentence !== undefined).join(' ') || undefined }),
      since: row.state_since,
      reportedAt: row.reported_at,
      createdAt: row.created_at,
    }
  }
}

/** Returns the warning about a sync that runs for too long. */
function longSyncOf(operation: ApplicationFacts['operation'], limit: number, now: number): string | undefined {
  if (operation?.phase !== 'running' || operation.startedAt === undefined) return undefined
  const minutes = Math.floor((now - operation.startedAt) / 60_000)
  return minutes >= limit ? `The sync has run for ${minutes} min, and the limit is ${limit} min.` : undefined
}
