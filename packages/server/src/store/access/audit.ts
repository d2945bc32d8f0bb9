import { defined } from '@windlass/kit'
import { sql } from 'kysely'
import { AUDIT_START, type AuditChain, type AuditRecord } from '@windlass/protocol'
import { preparedOne, preparedWrite } from '../database/prepared.ts'
import type { AuditChainRow, AuditRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'

const lockChain = preparedOne((tx: Tx, accountId: string) =>
  tx.query.selectFrom('audit_chain').select(['seq', 'hash']).where('account_id', '=', accountId).$call(tx.forUpdate),
)

/** Locks the end of the chain until the end of the transaction, and returns the newest record. */
export async function lockAuditChain(tx: Tx, accountId: string): Promise<Pick<AuditChainRow, 'seq' | 'hash'>> {
  const known = await lockChain(tx, accountId)
  if (known !== undefined) return known
  const start = { seq: 0, hash: AUDIT_START }
  await tx.query
    .insertInto('audit_chain')
    .values({ account_id: accountId, ...start, deleted_seq: 0, deleted_hash: AUDIT_START })
    .onConflict((conflict) => conflict.column('account_id').doNothing())
    .execute()
  return (await lockChain(tx, accountId)) ?? start
}

const insert = preparedWrite((tx, row: AuditRow) => tx.query.insertInto('audit').values(row))
const moveChain = preparedWrite((tx, row: Pick<AuditChainRow, 'seq' | 'hash'>, accountId: string) =>
  tx.query.updateTable('audit_chain').set(row).where('account_id', '=', accountId),
)

/** Adds a record after the newest one, which `lockAuditChain` has returned in this transaction. */
export async function insertAuditRecord(tx: Tx, accountId: string, record: AuditRecord): Promise<void> {
  const { actorId, requestId, owner = null, code = null, detail = null, client = null, ...same } = record
  await insert(tx, { ...same, account_id: accountId, actor_id: actorId, request_id: requestId, owner, code, detail, client })
  await moveChain(tx, { seq: record.seq, hash: record.hash }, accountId)
}

export interface AuditFilter {
  readonly order: 'newest' | 'oldest'
  /** Records after this one in the order. */
  readonly after: number | undefined
  readonly user: string | undefined
  readonly result: AuditRow['result'] | undefined
  /** Part of the action, of the path or of the detail. */
  readonly q?: string | undefined
  readonly limit: number
}

/** Records that one page looks at. A page of a filter may therefore be short although there are more. */
const SCANNED = 5_000

export interface AuditPage {
  readonly records: readonly AuditRecord[]
  /** Number after which the next page begins; undefined if this is the last one. */
  readonly next: number | undefined
}

/** Returns a page of records that match the filter. */
export async function listAuditRecords(query: Query, accountId: string, filter: AuditFilter): Promise<AuditPage> {
  const { order, user, result, limit } = filter
  const { last, deleted } = await findAuditChain(query, accountId)
  const isNewest = order === 'newest'
  const after = filter.after ?? (isNewest ? last.seq + 1 : deleted.seq)
  // The last number that this page looks at.
  const end = isNewest ? after - SCANNED : after + SCANNED
  let select = query
    .selectFrom('audit')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('seq', isNewest ? '<' : '>', after)
    .where('seq', isNewest ? '>=' : '<=', end)
  if (user !== undefined) select = select.where((where) => where.or([where('actor', '=', user), where('owner', '=', user)]))
  if (result !== undefined) select = select.where('result', '=', result)
  if (filter.q !== undefined && filter.q !== '') {
    const pattern = `%${filter.q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
    select = select.where(
      sql<boolean>`lower(action || ' ' || target || ' ' || coalesce(detail, '')) like lower(${pattern}) escape '\\'`,
    )
  }
  const rows = await select
    .orderBy('seq', isNewest ? 'desc' : 'asc')
    .limit(limit)
    .execute()
  const hasMore = isNewest ? end > deleted.seq + 1 : end < last.seq
  const next = rows.length === limit ? rows.at(-1)?.seq : hasMore ? end : undefined
  return { records: rows.map(toRecord), next }
}

function toRecord(row: AuditRow): AuditRecord {
  const { account_id: _account, actor_id: actorId, request_id: requestId, owner, code, detail, client, ...same } = row
  const optional = {
    owner: owner ?? undefined,
    code: code ?? undefined,
    detail: detail ?? undefined,
    client: client ?? undefined,
  }
  return { ...same, actorId, requestId, ...defined(optional) }
}

export async function findAuditChain(query: Query, accountId: string): Promise<AuditChain> {
  const row = await query.selectFrom('audit_chain').selectAll().where('account_id', '=', accountId).executeTakeFirst()
  const start = { seq: 0, hash: AUDIT_START }
  if (row === undefined) return { last: start, deleted: start }
  return { last: { seq: row.seq, hash: row.hash }, deleted: { seq: row.deleted_seq, hash: row.deleted_hash } }
}

interface Old {
  readonly accountId: string
  readonly before: number
  readonly limit: number
}

/** Deletes the oldest records up to the first one that is not older than `before`. The chain notes where it begins. Returns their number. */
export async function deleteOldAudit(tx: Tx, { accountId, before, limit }: Old): Promise<number> {
  await lockAuditChain(tx, accountId)
  const { deleted } = await findAuditChain(tx.query, accountId)
  const first = await tx.query
    .selectFrom('audit')
    .select(['seq', 'hash', 'at'])
    .where('account_id', '=', accountId)
    .where('seq', '>', deleted.seq)
    .where('seq', '<=', deleted.seq + limit)
    .orderBy('seq')
    .execute()
  const end = first.findIndex(({ at }) => at >= before)
  const old = end < 0 ? first : first.slice(0, end)
  const last = old.at(-1)
  if (last === undefined) return 0
  await tx.query.deleteFrom('audit').where('account_id', '=', accountId).where('seq', '<=', last.seq).execute()
  await tx.query
    .updateTable('audit_chain')
    .set({ deleted_seq: last.seq, deleted_hash: last.hash })
    .where('account_id', '=', accountId)
    .execute()
  return old.length
}
