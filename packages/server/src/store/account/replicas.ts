import { z } from 'zod'
import type { Query, Tx } from '../store.ts'

const Ids = z.array(z.string())

export interface Replica {
  readonly id: string
  /** Ids of its master keys. */
  readonly keys: readonly string[]
  readonly seenAt: number
  /** Undefined for servers of earlier versions. */
  readonly version?: string | undefined
  /** 99th percentile of the delay of its event loop. Milliseconds. */
  readonly lagMs?: number | undefined
}

/** Records a running server and its master keys. Deletes servers that were not seen since `before`. */
export async function recordReplica(tx: Tx, { id, keys, seenAt, version, lagMs }: Replica, before: number): Promise<void> {
  const row = { keys: JSON.stringify(keys), seen_at: seenAt, version: version ?? null, lag_ms: lagMs ?? null }
  await tx.query.deleteFrom('replica').where('seen_at', '<', before).where('id', '!=', id).execute()
  await tx.query
    .insertInto('replica')
    .values({ id, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}

export async function deleteReplica(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('replica').where('id', '=', id).execute()
}

/** Lists the servers that were seen since a time. */
export async function listReplicas(query: Query, since: number): Promise<Replica[]> {
  const rows = await query.selectFrom('replica').selectAll().where('seen_at', '>=', since).orderBy('id').execute()
  return rows.map((row) => ({
    id: row.id,
    keys: Ids.parse(JSON.parse(row.keys)),
    seenAt: row.seen_at,
    version: row.version ?? undefined,
    lagMs: row.lag_ms ?? undefined,
  }))
}

/** Counts live attempts and waiting warm pairs whose credentials were derived from a key other than this one, by key id. */
export async function countOldCredentials(query: Query, keyId: string): Promise<Map<string, number>> {
  const attempts = await query
    .selectFrom('attempt')
    .select(['key_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('status', 'not in', ['lost', 'ended'])
    .where('key_id', '!=', keyId)
    .groupBy('key_id')
    .execute()
  const pairs = await query
    .selectFrom('warm_pair')
    .select(['key_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('status', 'in', ['starting', 'ready'])
    .where('key_id', '!=', keyId)
    .groupBy('key_id')
    .execute()
  const counts = new Map<string, number>()
  for (const { key_id: id, count } of [...attempts, ...pairs]) counts.set(id, (counts.get(id) ?? 0) + Number(count))
  return counts
}
