/** Rotation of the master key with two servers on one database: nothing is sealed with a key that one of them does not have, or lost. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MasterKeys } from '@windlass/protocol'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newMasterKey } from '../../../src/secrets/master-key.ts'
import { rotateKeys } from '../../../src/secrets/master-keys.ts'
import { openRing } from '../../../src/secrets/ring.ts'
import { findRotation, KEYS_TOPIC } from '../../../src/secrets/rotation.ts'
import { CURRENT_KEY } from '../../../src/secrets/vault.ts'
import { startServer, type RunningServer, type ServerOptions } from '../../../src/index.ts'
import { findMeta } from '../../../src/store/account/meta.ts'
import { listReplicas } from '../../../src/store/account/replicas.ts'
import { openHttpScene } from '../../support/http-scene.ts'
import { finished, keysInUse, lines, put, read, rotate } from '../../support/master-keys.ts'
import { plantSecrets } from '../../support/secrets-scene.ts'
import { DATABASES, type Database } from '../../support/stores.ts'

describe('two servers on one PostgreSQL', () => {
  let database: Database
  beforeAll(async () => {
    database = await DATABASES[1].open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  const startSecond = (options: ServerOptions): Promise<RunningServer> => startServer({ minFreeShare: 0, ...options })

  test('both load the new key from the shared folder immediately, and seal concurrent writes with it', async () => {
    const options = await database.fresh()
    await using scene = await openHttpScene(options)
    const planted = await plantSecrets(scene)
    const other = await startSecond(options)
    try {
      let isOver = false
      const written: string[] = []
      const writer = (async () => {
        for (let n = 0; !isOver; n += 1) {
          await put(other.app, `w${n % 7}`, n % 3 === 2 && n >= 7 ? '*****' : `s3cret ${n}`)
          written.push(`w${n % 7}`)
          // The build ends immediately, so no attempt needs an older key.
          await scene.submit({ document: 'steps: 5', secrets: { ONCE: `s3cret ${n}` } })
        }
      })()
      for (let round = 0; round < 3; round += 1) {
        const count = written.length
        await rotate(scene, { prune: true })
        await finished(scene, ({ rotation }) => rotation?.finishedAt !== undefined && !rotation.prunes)
        await expect.poll(() => written.length).toBeGreaterThan(count + 3)
      }
      isOver = true
      await writer
      await scene.admin.call('POST', '/v1/master-keys/prune', MasterKeys)
      const { keys } = await finished(scene, (found) => found.keys.length === 1)
      expect([...(await keysInUse(scene.server.app)).keys()]).toEqual([keys[0]?.id])
      for (const name of new Set(written)) expect(await read(scene.server.app, name)).toMatch(/^s3cret \d+$/)
      expect(lines(options.dataDir)).toHaveLength(1)
    } finally {
      await other.close()
    }
    expect(await planted.missing(scene)).toEqual([])
  })

  test('a server still announces a new key while its rotation is blocked', async () => {
    const options = await database.fresh()
    // No limit of the database ends the wait of the rotation.
    const databaseLimits = { lockMs: 300_000, statementMs: 300_000, idleMs: 300_000 }
    await using scene = await openHttpScene({ ...options, databaseLimits })
    const { app } = scene.server
    const [locked, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await put(app, 'c', 's3cret')
    const holding = app.store.write(async (tx) => {
      await tx.query.selectFrom('context').select('id').$call(tx.forUpdate).execute()
      locked.resolve()
      await proceed.promise
    })
    await locked.promise
    try {
      // The first page of the rotation waits for the row.
      await rotate(scene)
      const added = openRing(options, false).add()
      await app.store.write(async (tx) => tx.wake(KEYS_TOPIC))
      const announced = async (): Promise<readonly string[]> =>
        (await listReplicas(app.store.query, 0)).flatMap(({ keys }) => keys)
      await expect.poll(announced).toContain(added.id)
    } finally {
      proceed.resolve()
      await holding
    }
  })

  test('a write that started with the older key finishes before the newer one becomes current', async () => {
    const options = await database.fresh()
    await using scene = await openHttpScene(options)
    const other = await startSecond(options)
    const [began, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    try {
      const { app } = scene.server
      const writing = other.app.store.write(async (tx) => {
        const { keyId } = await other.app.vault.sealer(tx)
        began.resolve()
        await proceed.promise
        return keyId
      })
      await began.promise
      const asked = rotate(scene)
      const waiting = sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(async () => (await waiting.execute(app.store.query)).rows[0]?.count).toBeGreaterThan(0)
      const older = await findMeta(app.store.query, CURRENT_KEY)
      proceed.resolve()
      expect(await writing).toBe(older)
      const { keys } = await asked
      expect(keys).toMatchObject([{ id: older }, { state: 'current' }])
    } finally {
      proceed.resolve()
      await other.close()
    }
  })

  test('with keys from files, the rotation waits until every server has the new one', async () => {
    const options = await database.fresh()
    const [older, newer] = [newMasterKey(), newMasterKey()]
    const files = ['first', 'second'].map((name) => join(options.dataDir, `${name}.key`))
    const [one = '', two = ''] = files
    for (const file of files) writeFileSync(file, `${older}\n`)
    await using scene = await openHttpScene({ ...options, masterKey: older, masterKeyFile: one })
    const other = await startSecond({ ...options, masterKey: older, masterKeyFile: two })
    try {
      const { app } = scene.server
      await put(app, 'c', 's3cret')
      await expect(rotate(scene)).rejects.toMatchObject({ code: 'no-new-key' })
      writeFileSync(one, `${older}\n${newer}\n`)
      await expect(rotateKeys(app, { prune: false, waitMs: 200 })).rejects.toMatchObject({
        code: 'keys-not-everywhere',
        message: expect.stringContaining('1 of 2 servers'),
      })
      expect(await findRotation(app.store.query)).toBeUndefined()
      const asked = rotate(scene)
      writeFileSync(two, `${older}\n${newer}\n`)
      await asked
      await put(other.app, 'd', 's3cret of the other')
      expect(await read(app, 'd')).toBe('s3cret of the other')
      const { keys } = await finished(scene, ({ rotation }) => rotation?.finishedAt !== undefined)
      expect(keys.map(({ state }) => state)).toEqual(['unused', 'current'])
      for (const file of files) writeFileSync(file, `${newer}\n`)
      await other.close()
      const again = await startSecond({ ...options, masterKey: newer, masterKeyFile: two })
      expect(await read(again.app, 'c')).toBe('s3cret')
      await again.close()
    } finally {
      await other.close()
    }
  })
})
