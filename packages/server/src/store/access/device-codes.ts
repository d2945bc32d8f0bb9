import type { DeviceCodeRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'

export async function insertDeviceCode(tx: Tx, code: DeviceCodeRow): Promise<void> {
  await tx.query.insertInto('device_code').values(code).execute()
}

/** Counts the codes of the account, or those that a client of this address has asked for. */
export async function countDeviceCodes(query: Query, accountId: string, address?: string): Promise<number> {
  let select = query
    .selectFrom('device_code')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
  if (address !== undefined) select = select.where('address', '=', address)
  const { count } = await select.executeTakeFirstOrThrow()
  return count
}

export async function findDeviceCode(query: Query, id: string): Promise<DeviceCodeRow | undefined> {
  return query.selectFrom('device_code').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Finds a code by what the user types, and locks it until the end of the transaction. */
export async function lockUserCode(tx: Tx, accountId: string, userCode: string): Promise<DeviceCodeRow | undefined> {
  return tx.query
    .selectFrom('device_code')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('user_code', '=', userCode)
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

/** Locks a code until the end of the transaction. */
export async function lockDeviceCode(tx: Tx, id: string): Promise<DeviceCodeRow | undefined> {
  return tx.query.selectFrom('device_code').selectAll().where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
}

export async function updateDeviceCode(tx: Tx, id: string, changes: Partial<DeviceCodeRow>): Promise<void> {
  await tx.query.updateTable('device_code').set(changes).where('id', '=', id).execute()
}

export async function deleteOldDeviceCodes(tx: Tx, now: number): Promise<void> {
  await tx.query.deleteFrom('device_code').where('expires_at', '<=', now).execute()
}
