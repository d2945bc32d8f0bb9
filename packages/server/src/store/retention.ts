import { FINAL_BUILD_STATUSES } from '@windlass/plan'
import { sql, type RawBuilder, type SqlBool } from 'kysely'
import { insertDeadObjects } from './builds/logs/log-objects.ts'
import type { Query, Tx } from './store.ts'

/** Which ended builds are old. */
export type OldBuilds =
  /** Those that ended before this time, except those of projects with an own value. */
  | { readonly before: number; readonly except: readonly string[] }
  /** Those of a project that ended before this time. */
  | { readonly before: number; readonly projectId: string }
  /** Those of a project up to this number. */
  | { readonly projectId: string; readonly upTo: number }

interface Old {
  readonly which: OldBuilds
  readonly limit: number
  readonly now: number
}

/** Returns the condition that a build is old. Builds that have not ended are not. */
function isOld(which: OldBuilds): RawBuilder<SqlBool> {
  if ('upTo' in which)
    return sql<SqlBool>`build.finished_at is not null and build.project_id = ${which.projectId} and build.number <= ${which.upTo}`
  const { before } = which
  if ('projectId' in which) return sql<SqlBool>`build.finished_at < ${before} and build.project_id = ${which.projectId}`
  if (which.except.length === 0) return sql<SqlBool>`build.finished_at < ${before}`
  const others = sql.join([...which.except])
  return sql<SqlBool>`build.finished_at < ${before} and (build.project_id is null or build.project_id not in (${others}))`
}

/** Deletes the log rows of old builds and marks their logs as expired. Returns the number of builds. */
export async function deleteOldLogs(tx: Tx, { which, limit, now }: Old): Promise<number> {
  const builds = await tx.query
    .selectFrom('build')
    .select('id')
    .where(isOld(which))
    .where('logs_expired_at', 'is', null)
    .where((where) =>
      where.exists(where.selectFrom('chunk').select('chunk.position').whereRef('chunk.build_id', '=', 'build.id')),
    )
    .limit(limit)
    .execute()
  const ids = builds.map(({ id }) => id)
  if (ids.length > 0) await tx.query.updateTable('build').set({ logs_expired_at: now }).where('id', 'in', ids).execute()
  await deleteLogs(tx, ids, now)
  return ids.length
}

/** Deletes log rows. An object may hold frames of several builds, so it is deleted after the last of them. */
async function deleteLogs(tx: Tx, builds: readonly string[], now: number): Promise<void> {
  if (builds.length === 0) return
  const chunks = await tx.query.deleteFrom('chunk').where('build_id', 'in', builds).returning('object').execute()
  await tx.query.deleteFrom('stream').where('build_id', 'in', builds).execute()
  await tx.query.deleteFrom('stream_marks').where('build_id', 'in', builds).execute()
  await insertDeadObjects(tx, [...new Set(chunks.map(({ object }) => object))], now)
}

/** Deletes old builds with all their data. Keeps builds that may still have objects in a cluster. */
export async function deleteOldBuilds(tx: Tx, { which, limit, now }: Old): Promise<number> {
  const old = await tx.query
    .selectFrom('build')
    .select('id')
    .where(isOld(which))
    .where('status', 'in', [...FINAL_BUILD_STATUSES])
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('attempt')
            .select('attempt.number')
            .whereRef('attempt.build_id', '=', 'build.id')
            .where('attempt.gone', '=', 0),
        ),
      ),
    )
    .limit(limit)
    .execute()
  const ids = old.map(({ id }) => id)
  if (ids.length === 0) return 0
  await deleteLogs(tx, ids, now)
  for (const table of [
    'event',
    'command',
    'task',
    'object_task',
    'attempt',
    'approval',
    'image',
    'build_plan',
    'terminal',
    'terminal_part',
    'ended_step',
    'build_wait',
    'build_data',
  ] as const)
    await tx.query.deleteFrom(table).where('build_id', 'in', ids).execute()
  await tx.query.deleteFrom('annotation').where('entity', '=', 'build').where('entity_id', 'in', ids).execute()
  await tx.query.deleteFrom('build').where('id', 'in', ids).execute()
  return ids.length
}

/** Tables whose rows a server of an earlier version leaves when it deletes what they belong to -> the table with that. */
const LEFT = { ended_step: 'build', build_wait: 'build', build_data: 'build', stream_marks: 'stream' } as const
export type LeftTable = keyof typeof LEFT
export const LEFT_TABLES = Object.keys(LEFT) as LeftTable[]

export interface LeftPage {
  /** Builds of this page whose rows are left. */
  readonly left: readonly string[]
  /** The last build of the page; undefined after the last page. */
  readonly next: string | undefined
}

/** Looks at the next `limit` builds that have rows in a table. */
export async function listLeftBuilds(
  query: Query,
  { table, after, limit }: { readonly table: LeftTable; readonly after: string; readonly limit: number },
): Promise<LeftPage> {
  const page = await query
    .selectFrom(table)
    .select('build_id')
    .distinct()
    .where('build_id', '>', after)
    .orderBy('build_id')
    .limit(limit)
    .execute()
  const ids = page.map(({ build_id: id }) => id)
  if (ids.length === 0) return { left: [], next: undefined }
  const left = await query
    .selectFrom(table)
    .select('build_id')
    .distinct()
    .where('build_id', 'in', ids)
    .where(isLeft(table))
    .execute()
  return { left: left.map(({ build_id: id }) => id), next: ids.length < limit ? undefined : ids.at(-1) }
}

/** Deletes the rows of builds if their builds or logs are gone. */
export async function deleteLeftRows(tx: Tx, table: LeftTable, buildIds: readonly string[]): Promise<void> {
  await tx.query.deleteFrom(table).where('build_id', 'in', buildIds).where(isLeft(table)).execute()
}

function isLeft(table: LeftTable): RawBuilder<SqlBool> {
  const id = sql.ref(`${table}.build_id`)
  return LEFT[table] === 'build'
    ? sql<SqlBool>`not exists (select 1 from build where build.id = ${id})`
    : sql<SqlBool>`not exists (select 1 from stream where stream.build_id = ${id})`
}

/** Returns the number of the newest build of a project that has `keep` newer ended builds; undefined if there are not that many. */
export async function findExcessBuild(query: Query, projectId: string, keep: number): Promise<number | undefined> {
  const row = await query
    .selectFrom('build')
    .select('number')
    .where('project_id', '=', projectId)
    .where('finished_at', 'is not', null)
    .orderBy('number', 'desc')
    .offset(keep)
    .limit(1)
    .executeTakeFirst()
  return row?.number
}

/** Builds whose logs one statement sums. A build may have hundreds of streams. */
const SUMMED_BUILDS = 500

/**
 * Returns the number of the newest ended build of a project whose log, with those of the newer ended builds, has more than `maxBytes`; undefined if all logs
 * together have fewer. Each statement reads a limited number of builds.
 */
export async function findExcessLog(query: Query, projectId: string, maxBytes: number): Promise<number | undefined> {
  let total = 0
  let before: number | undefined
  for (;;) {
    let builds = query
      .selectFrom('build')
      .select(['id', 'number'])
      .where('project_id', '=', projectId)
      .where('finished_at', 'is not', null)
      .where('logs_expired_at', 'is', null)
    if (before !== undefined) builds = builds.where('number', '<', before)
    const page = await builds.orderBy('number', 'desc').limit(SUMMED_BUILDS).execute()
    const sizes = await sumLogs(query, page)
    for (const { id, number } of page) {
      total += sizes.get(id) ?? 0
      if (total > maxBytes) return number
    }
    if (page.length < SUMMED_BUILDS) return undefined
    before = page.at(-1)?.number
  }
}

async function sumLogs(query: Query, builds: readonly { readonly id: string }[]): Promise<Map<string, number>> {
  if (builds.length === 0) return new Map()
  const sizes = await query
    .selectFrom('stream')
    .select(['build_id', (of) => of.fn.sum<number>('bytes').as('bytes')])
    .where(
      'build_id',
      'in',
      builds.map(({ id }) => id),
    )
    .groupBy('build_id')
    .execute()
  return new Map(sizes.map(({ build_id: id, bytes }) => [id, Number(bytes)]))
}

export async function deleteOldTasks(tx: Tx, before: number): Promise<void> {
  await tx.query
    .deleteFrom('object_task')
    .where('task_id', 'in', (of) => of.selectFrom('task').select('task.id').where('task.done_at', '<', before))
    .execute()
  await tx.query.deleteFrom('task').where('done_at', '<', before).execute()
}

/** Deletes pairs that a build used, once all objects of its attempt are gone. */
export async function deleteTakenPairs(tx: Tx, before: number): Promise<void> {
  await tx.query
    .deleteFrom('warm_pair')
    .where('status', '=', 'taken')
    .where('created_at', '<', before)
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('attempt')
            .select('attempt.number')
            .whereRef('attempt.build_id', '=', 'warm_pair.build_id')
            .whereRef('attempt.number', '=', 'warm_pair.attempt')
            .where('attempt.gone', '=', 0),
        ),
      ),
    )
    .execute()
}

export async function deleteOldReplies(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('reply').where('created_at', '<', before).execute()
}

/** A statement can have 32,766 parameters on SQLite and 65,535 on PostgreSQL. */
const OBJECTS_PER_STATEMENT = 1_000

/** Returns the objects that no row refers to. */
export async function listUnreferencedObjects(query: Query, objects: readonly string[]): Promise<string[]> {
  const kept = new Set<string>()
  for (let from = 0; from < objects.length; from += OBJECTS_PER_STATEMENT) {
    const some = objects.slice(from, from + OBJECTS_PER_STATEMENT)
    const used = await query.selectFrom('chunk').select('object').where('object', 'in', some).distinct().execute()
    for (const { object } of used) kept.add(object)
  }
  return objects.filter((object) => !kept.has(object))
}

/** Returns the end of the oldest build that has its log, and of the oldest build. */
export async function findOldest(
  query: Query,
  accountId: string,
): Promise<{ readonly oldestLogAt?: number | undefined; readonly oldestBuildAt?: number | undefined }> {
  const oldest = query
    .selectFrom('build')
    .select('finished_at')
    .where('account_id', '=', accountId)
    .where('finished_at', 'is not', null)
    .orderBy('finished_at')
    .limit(1)
  const log = await oldest.where('logs_expired_at', 'is', null).executeTakeFirst()
  // Builds are deleted in about the order of their numbers.
  const build = await query
    .selectFrom('build')
    .select('finished_at')
    .where('account_id', '=', accountId)
    .where('finished_at', 'is not', null)
    .orderBy('number')
    .limit(1)
    .executeTakeFirst()
  return { oldestLogAt: log?.finished_at ?? undefined, oldestBuildAt: build?.finished_at ?? undefined }
}
