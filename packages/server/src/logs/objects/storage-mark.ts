/** A check that the log storage belongs to the database. Replicas with separate storages would each serve only a part of every log. */
import { fault, newId, type Clock } from '@windlass/kit'
import { listSomeObjects } from '../../store/builds/logs/log-objects.ts'
import { deleteMeta, findMeta, insertMeta } from '../../store/account/meta.ts'
import type { Query, Store } from '../../store/store.ts'
import { isObjectKey } from './object-keys.ts'
import type { Objects } from './objects.ts'
import { MARK_NAME, type LogStorage } from './storage.ts'

/** Key of `meta`: the mark of the log storage. */
export const LOG_STORAGE = 'log-folder'
/** Prefix of the keys of the ids that servers of this database have offered as marks. */
const OFFER = 'log-folder-offer:'

/**
 * Marks the storage on first use, and again if the mark is missing but the storage contains logs of the database. Throws `config-invalid` if the database
 * belongs to another storage, or the storage to another database, because retention would delete the logs of that database.
 */
export async function requireOwnLogs(store: Store, clock: Clock, storage: LogStorage): Promise<void> {
  const known = (await findMeta(store.query, LOG_STORAGE)) ?? (await adopt(store, clock, storage))
  const marked = await storage.readMark()
  if (marked === known) return
  if (marked === undefined && (await holdsLogs(store.query, storage.objects))) {
    await storage.writeMark(known)
    if ((await storage.readMark()) === known) return
  }
  const move =
    storage.folder === undefined ? 'use the same bucket and prefix' : 'share one log folder. Mount the same folder on each'
  throw fault('config-invalid', {
    message: `The log ${storage.name} does not belong to this database.`,
    hint: `All servers of a database must ${move}. To move logs, copy all files, including ${MARK_NAME}. If the logs were lost, write ${known} to ${storage.markName}.`,
  })
}

/**
 * Binds the storage to the database. Returns the id of the storage that is in the database afterwards.
 *
 * The order makes every interrupted start repeatable, without calls to the storage in a transaction: the database first stores the id that the server
 * offers, then the storage gets it as its mark, and last the database adopts the mark. A mark that the database has offered is its own.
 */
async function adopt(store: Store, clock: Clock, storage: LogStorage): Promise<string> {
  const marked = (await storage.readMark()) ?? (await offer(store, newId(clock.now()), storage))
  const isOffered = (await findMeta(store.query, OFFER + marked)) !== undefined
  // Another server of this database may have adopted a mark in the meantime, which removes the offers.
  const known = await findMeta(store.query, LOG_STORAGE)
  if (known !== undefined) return known
  if (!isOffered && !(await holdsLogs(store.query, storage.objects))) throw foreign(storage)
  return store.write(async (tx) => {
    await deleteMeta(tx, OFFER)
    return insertMeta(tx, LOG_STORAGE, marked)
  })
}

/** Marks a storage without a mark. Returns its mark, which may be that of another server. */
async function offer(store: Store, own: string, storage: LogStorage): Promise<string> {
  if ((await hasObjects(storage.objects)) && !(await holdsLogs(store.query, storage.objects))) throw foreign(storage)
  const known = await store.write(async (tx) => {
    const adopted = await findMeta(tx.query, LOG_STORAGE)
    if (adopted === undefined) await insertMeta(tx, OFFER + own, own)
    return adopted
  })
  // Another server of this database has adopted a storage, which may be another one. This one stays without a mark.
  if (known !== undefined) return known
  await storage.writeMark(own)
  const marked = await storage.readMark()
  if (marked === undefined) throw foreign(storage)
  return marked
}

function foreign(storage: LogStorage): Error {
  return fault('config-invalid', {
    message: `The log ${storage.name} belongs to another database.`,
    hint: `Set WINDLASS_SERVER_DATABASE_URL to the database of these logs, or restore that database. A new database needs ${storage.folder === undefined ? 'a prefix without logs' : 'an empty log folder'}.`,
  })
}

/** True if the storage contains objects of the database. */
async function holdsLogs(query: Query, objects: Objects): Promise<boolean> {
  for (const object of await listSomeObjects(query)) if ((await objects.head(object)) !== undefined) return true
  return false
}

async function hasObjects(objects: Objects): Promise<boolean> {
  for await (const { key } of objects.list('')) if (isObjectKey(key)) return true
  return false
}
