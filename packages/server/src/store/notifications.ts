import { preparedOne } from './database/prepared.ts'
import type { MailServerRow, NotificationRow } from './schema/schema.ts'
import type { Query, Tx } from './store.ts'
import { sql } from 'kysely'

export async function insertNotification(tx: Tx, row: NotificationRow): Promise<void> {
  await tx.query.insertInto('notification').values(row).execute()
}

export async function updateNotification(tx: Tx, id: string, changes: Partial<NotificationRow>): Promise<void> {
  await tx.query.updateTable('notification').set(changes).where('id', '=', id).execute()
}

export async function deleteNotification(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('notification').where('id', '=', id).execute()
}

/** Deletes the personal notifications of a user. */
export async function deleteNotificationsOf(tx: Tx, ownerId: string): Promise<void> {
  await tx.query.deleteFrom('notification').where('owner_id', '=', ownerId).execute()
}

export async function findNotificationById(query: Query, id: string): Promise<NotificationRow | undefined> {
  return query.selectFrom('notification').selectAll().where('id', '=', id).executeTakeFirst()
}

export interface Owned {
  readonly accountId: string
  /** The user whose personal notifications count, too; empty for none. */
  readonly ownerId: string
}

/** Finds a notification by id or name, a personal one of the owner first. */
export async function findNotification(
  query: Query,
  { accountId, ownerId, name }: Owned & { readonly name: string },
): Promise<NotificationRow | undefined> {
  return query
    .selectFrom('notification')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('owner_id', 'in', [ownerId, ''])
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
    .orderBy('owner_id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Returns true if the owner itself, or nobody if it is empty, has a notification of this name. */
export async function hasNotificationNamed(
  query: Query,
  { accountId, ownerId, name }: Owned & { readonly name: string },
): Promise<boolean> {
  const found = await query
    .selectFrom('notification')
    .select('id')
    .where('account_id', '=', accountId)
    .where('owner_id', '=', ownerId)
    .where('name', '=', name)
    .executeTakeFirst()
  return found !== undefined
}

/** Counts the notifications of exactly this owner. */
export async function countNotifications(query: Query, { accountId, ownerId }: Owned): Promise<number> {
  const { count } = await query
    .selectFrom('notification')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('owner_id', '=', ownerId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export interface Range {
  /** Only rows after the one with this id. */
  readonly after: string | undefined
  readonly limit: number
}

/** Lists the notifications of pipelines and projects and those of the owner, oldest first. */
export async function listNotifications(
  query: Query,
  { accountId, ownerId, after, limit }: Owned & Range,
): Promise<NotificationRow[]> {
  let select = query
    .selectFrom('notification')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('owner_id', 'in', [ownerId, ''])
  if (after !== undefined) select = select.where('id', '>', after)
  return select.orderBy('id').limit(limit).execute()
}

/** Lists the notifications of all owners that are not disabled, oldest first. */
export async function listActiveNotifications(
  query: Query,
  { accountId, after, limit }: Range & { readonly accountId: string },
): Promise<NotificationRow[]> {
  let select = query.selectFrom('notification').selectAll().where('account_id', '=', accountId).where('disabled', '=', 0)
  if (after !== undefined) select = select.where('id', '>', after)
  return select.orderBy('id').limit(limit).execute()
}

const findAny = preparedOne((query: Query, accountId: string) =>
  query.selectFrom('notification').select('id').where('account_id', '=', accountId).limit(1),
)

/** Returns true if the account has notifications. Read at the end of each build. */
export async function hasNotifications(query: Query, accountId: string): Promise<boolean> {
  return (await findAny(query, accountId)) !== undefined
}

export interface Target {
  readonly id: string
  readonly name: string
  /** Null for a pipeline without a project. */
  readonly project_id: string | null
  /** Null for a project. */
  readonly pipeline_id: string | null
}

/** Finds the pipelines and projects of a rule by their ids. Deleted ones are missing. */
export async function listTargets(
  query: Query,
  { pipelines, projects }: { readonly pipelines: readonly string[]; readonly projects: readonly string[] },
): Promise<{ readonly pipelines: Target[]; readonly projects: Target[] }> {
  return {
    pipelines:
      pipelines.length === 0
        ? []
        : await query
            .selectFrom('pipeline')
            .select(['id', 'name', 'project_id', 'id as pipeline_id'])
            .where('id', 'in', pipelines)
            .execute(),
    projects:
      projects.length === 0
        ? []
        : await query
            .selectFrom('project')
            .select(['id', 'name', 'id as project_id', sql<string | null>`null`.as('pipeline_id')])
            .where('id', 'in', projects)
            .execute(),
  }
}

export async function findMailServer(query: Query, accountId: string): Promise<MailServerRow | undefined> {
  return query.selectFrom('mail_server').selectAll().where('account_id', '=', accountId).executeTakeFirst()
}

export async function saveMailServer(tx: Tx, row: MailServerRow): Promise<void> {
  await tx.query
    .insertInto('mail_server')
    .values(row)
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(row))
    .execute()
}

/** Returns false if there is none. */
export async function deleteMailServer(tx: Tx, accountId: string): Promise<boolean> {
  const { numDeletedRows } = await tx.query
    .deleteFrom('mail_server')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}
