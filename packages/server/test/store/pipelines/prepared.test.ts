/** Prepared statements run with the values of each call, on both databases. */
import { silentLog, systemClock } from '@windlass/kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openMetrics } from '../../../src/metrics.ts'
import { prepared, preparedOne, preparedWrite } from '../../../src/store/database/prepared.ts'
import type { AnnotationRow } from '../../../src/store/schema/schema.ts'
import { openStore, type Query, type Store, type Tx } from '../../../src/store/store.ts'
import { DATABASES, type Database } from '../../support/stores.ts'

const COMMON = { account_id: 'a', entity: 'build', entity_id: 'b', kind: 'annotation', display: 0, updated_at: 1 } as const

let built = 0
const list = prepared((query: Query, name: string, most: number) => {
  built += 1
  return query.selectFrom('annotation').select(['name', 'value']).where('name', '>=', name).orderBy('name').limit(most)
})
const lock = preparedOne((tx: Tx, name: string) =>
  tx.query.selectFrom('annotation').selectAll().where('name', '=', name).$call(tx.forUpdate),
)
const insert = preparedWrite((tx, row: AnnotationRow) => tx.query.insertInto('annotation').values(row))
const update = preparedWrite((tx, changes: Partial<AnnotationRow>, name: string, entity: string) =>
  tx.query.updateTable('annotation').set(changes).where('name', '=', name).where('entity_id', '=', entity),
)

describe.each(DATABASES)('prepared statements on $name', ({ open }) => {
  let database: Database
  let store: Store
  beforeAll(async () => {
    database = await open()
    store = await openStore({ ...(await database.fresh()), clock: systemClock, log: silentLog, metrics: openMetrics() })
    await store.write(async (tx) => {
      for (const name of ['x', 'y', 'z']) await insert(tx, { ...COMMON, name, value: `of ${name}` })
    })
  })
  afterAll(async () => {
    await store.close()
    await database[Symbol.asyncDispose]()
  })

  test('read with other values each time, inside and outside of transactions, and are built once', async () => {
    const before = built
    expect(await list(store.query, 'y', 9)).toEqual([
      { name: 'y', value: 'of y' },
      { name: 'z', value: 'of z' },
    ])
    expect(await list(store.query, 'x', 1)).toEqual([{ name: 'x', value: 'of x' }])
    expect(await store.write((tx) => list(tx.query, 'z', 9))).toEqual([{ name: 'z', value: 'of z' }])
    expect(built - before).toBe(1)
    expect(await store.write((tx) => lock(tx, 'x'))).toEqual({ ...COMMON, name: 'x', value: 'of x' })
    expect(await store.write((tx) => lock(tx, 'none'))).toBeUndefined()
  })

  test('write only the given columns, in any combination', async () => {
    await store.write(async (tx) => {
      await update(tx, { value: 'first' }, 'x', 'b')
      await update(tx, { display: 1, value: 'second' }, 'y', 'b')
      await update(tx, { value: 'third', display: 1 }, 'z', 'b')
      await update(tx, { value: 'of no row' }, 'z', 'other')
    })
    const rows = await store.query.selectFrom('annotation').select(['name', 'value', 'display']).orderBy('name').execute()
    expect(rows).toEqual([
      { name: 'x', value: 'first', display: 0 },
      { name: 'y', value: 'second', display: 1 },
      { name: 'z', value: 'third', display: 1 },
    ])
  })
})
