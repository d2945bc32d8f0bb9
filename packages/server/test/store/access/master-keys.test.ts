/** Rotation of the master key: no sealed text is lost, despite concurrent writes and interruptions. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MasterKeys } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { buildToken, findBuildToken } from '../../../src/identity/keys/build-token.ts'
import { openApp } from '../../../src/open-app.ts'
import { newMasterKey, readRing } from '../../../src/secrets/master-key.ts'
import { pruneKeys, rotateKeys, showKeys } from '../../../src/secrets/master-keys.ts'
import { contextPlace, SEALED_KINDS } from '../../../src/secrets/places.ts'
import { openRing } from '../../../src/secrets/ring.ts'
import { continueRotation, findRotation, prepareKey, rewrapPage, switchKey } from '../../../src/secrets/rotation.ts'
import { CURRENT_KEY } from '../../../src/secrets/vault.ts'
import { findContext } from '../../../src/store/account/contexts.ts'
import { findMeta, putMeta } from '../../../src/store/account/meta.ts'
import { openHttpScene } from '../../support/http-scene.ts'
import { openScene, PROTOCOL, startAttempt, submit } from '../../support/scene.ts'
import { finished, keysInUse, lines, put, read, rotate } from '../../support/master-keys.ts'
import { plantSecrets, reopen } from '../../support/secrets-scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

describe.each(DATABASES)('rotation of the master key on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('rewraps every kind of sealed text, which can be opened after the older key is removed', async () => {
    const options = { ...(await database.fresh()), minFreeShare: 0 }
    await using scene = await openHttpScene(options)
    const planted = await plantSecrets(scene)
    const before = [...(await keysInUse(scene.server.app)).keys()]
    expect(before).toHaveLength(1)
    await rotate(scene)
    const { keys, rotation } = await finished(scene, (found) => found.rotation?.finishedAt !== undefined)
    expect(keys.map(({ id, state }) => [id === before[0], state])).toEqual([
      [true, 'unused'],
      [false, 'current'],
    ])
    // Ensures that this test covers every kind.
    for (const kind of SEALED_KINDS)
      expect([kind, rotation?.rewrapped[kind] ?? 0]).toEqual([kind, expect.toSatisfy((n) => n > 0)])
    expect(rotation).toMatchObject({ unreadable: 0, to: keys[1]?.id })
    expect([...(await keysInUse(scene.server.app))].filter(([id]) => id !== keys[1]?.id)).toEqual([])
    expect(lines(options.dataDir)).toHaveLength(2)
    await scene.admin.call('POST', '/v1/master-keys/prune', MasterKeys)
    await finished(scene, (found) => found.keys.length === 1)
    expect(lines(options.dataDir)).toHaveLength(1)
    expect(statSync(join(options.dataDir, 'master.key')).mode & 0o777).toBe(0o600)
    await using again = await reopen(scene, options)
    expect(await planted.missing(again)).toEqual([])
  })

  test('keeps the credentials of a running build and removes the older key after its end', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene, { secrets: { ONCE: 's3cret' } })
    const start = await startAttempt(scene, build)
    const claim = { ...PROTOCOL, claimKey: 'the-key-of-this-engine' }
    const first = await claimAttempt(app, start, claim)
    const { id: older } = readRing(readFileSync(join(app.dataDir, 'master.key'), 'utf8'))[0] ?? { id: '' }
    await rotateKeys(app, { prune: true })
    await continueRotation(app)
    expect((await showKeys(app)).keys).toMatchObject([
      { id: older, state: 'older', credentials: 1 },
      { state: 'current', credentials: 0 },
    ])
    const second = await claimAttempt(app, start, claim)
    expect([second.token, second.buildToken, second.secrets]).toEqual([first.token, first.buildToken, { 'build/ONCE': 's3cret' }])
    expect((await findBuildToken(app.store.query, app.vault, build.id))?.actor).toMatchObject({ buildId: build.id })
    await app.store.query.updateTable('attempt').set({ status: 'ended' }).where('build_id', '=', build.id).execute()
    await continueRotation(app)
    expect((await showKeys(app)).keys).toMatchObject([{ state: 'current' }])
    expect(lines(app.dataDir)).toHaveLength(1)
    expect((await showKeys(app)).rotation).toMatchObject({ prunes: false })
  })

  test('continues after a server ends in the middle, and a second call does not create a third key', async () => {
    const options = { ...(await database.fresh()), startsLoops: false }
    const opened = await openApp(options, () => '')
    for (let n = 0; n < 120; n += 1) await put(opened.app, `c${n}`, `s3cret ${n}`)
    // Between the two steps, the new key is in the file but nothing is sealed with it.
    const { id: next } = await prepareKey(opened.app)
    expect((await showKeys(opened.app)).keys).toMatchObject([{ state: 'current' }, { id: next, state: 'next' }])
    expect((await rotateKeys(opened.app, { prune: false })).rotation).toMatchObject({ to: next })
    expect(await rewrapPage(opened.app)).toBe(true)
    await opened.close()
    const again = await openApp(options, () => '')
    expect((await keysInUse(again.app)).size).toBe(2)
    const { keys, rotation } = await rotateKeys(again.app, { prune: true })
    expect([keys.length, rotation?.to, rotation?.rewrapped]).toEqual([2, next, { context: 50 }])
    await continueRotation(again.app)
    expect((await showKeys(again.app)).rotation).toMatchObject({ rewrapped: { context: 120 } })
    expect([...(await keysInUse(again.app)).keys()]).toEqual([next])
    await again.close()
    const pruned = await openApp(options, () => '')
    expect(await read(pruned.app, 'c119')).toBe('s3cret 119')
    await pruned.close()
  })

  test('seals everything written during the rotation with the new key, including kept values', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    for (let n = 0; n < 60; n += 1) await put(app, `c${n}`, `s3cret ${n}`)
    const { keys } = await rotateKeys(app, { prune: false })
    await put(app, 'c59', '*****')
    await put(app, 'c0', 'changed')
    await put(app, 'new', 's3cret')
    const current = keys.find(({ state }) => state === 'current')?.id ?? ''
    const sealedBy = async (name: string): Promise<string | undefined> =>
      (await findContext(app.store.query, app.accountId, name))?.data.split('.')[1]
    expect([await sealedBy('c59'), await sealedBy('new'), (await sealedBy('c58')) === current]).toEqual([current, current, false])
    await continueRotation(app)
    expect([...(await keysInUse(app)).keys()]).toEqual([current])
    for (const [name, value] of [
      ['c59', 's3cret 59'],
      ['c0', 'changed'],
      ['new', 's3cret'],
    ] as const)
      expect(await read(app, name)).toBe(value)
  })

  test('keeps a key that another server adds to the file while older keys are removed', async () => {
    const options = { ...(await database.fresh()), startsLoops: false }
    const opened = await openApp(options, () => '')
    await put(opened.app, 'c', 's3cret')
    const { keys } = await rotateKeys(opened.app, { prune: true })
    const other = openRing(options, false)
    const added = other.add()
    await continueRotation(opened.app)
    expect(readRing(lines(options.dataDir).join('\n')).map(({ id }) => id)).toEqual([keys.at(-1)?.id, added.id])
    await switchKey(opened.app, { to: added.id, prunes: true })
    await continueRotation(opened.app)
    await opened.close()
    const again = await openApp(options, () => '')
    expect(await read(again.app, 'c')).toBe('s3cret')
    await again.close()
  })

  test('does not make a key current that is no longer in the file', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const before = await findMeta(app.store.query, CURRENT_KEY)
    const { id } = await prepareKey(app)
    openRing(app, false).remove([id])
    await expect(switchKey(app, { to: id, prunes: false })).rejects.toMatchObject({
      code: 'keys-not-everywhere',
      message: expect.stringContaining(id),
    })
    expect([await findMeta(app.store.query, CURRENT_KEY), await findRotation(app.store.query)]).toEqual([before, undefined])
  })

  test('counts texts that cannot be opened, leaves them unchanged and continues', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    for (const name of ['good', 'damaged', 'foreign']) await put(app, name, 's3cret')
    const spoil = async (name: string, change: (data: string) => string): Promise<void> => {
      const row = await findContext(app.store.query, app.accountId, name)
      await app.store.query
        .updateTable('context')
        .set({ data: change(row?.data ?? '') })
        .where('name', '=', name)
        .execute()
    }
    await spoil('damaged', (data) => data.replace(/.{6}"}$/, 'AAAAAA"}'))
    await spoil('foreign', (data) => data.replace(/s1\.[0-9a-f]{16}/, `s1.${'0'.repeat(16)}`))
    await rotateKeys(app, { prune: true })
    await continueRotation(app)
    expect((await showKeys(app)).rotation).toMatchObject({ unreadable: 2, rewrapped: { context: 1 }, prunes: false })
    expect([await read(app, 'good'), lines(app.dataDir).length]).toEqual(['s3cret', 1])
    await expect(read(app, 'damaged')).rejects.toMatchObject({ code: 'internal' })
  })

  test('rejects a write if this server does not have the current key', async () => {
    const options = await database.fresh()
    const [older, newer] = [newMasterKey(), newMasterKey()]
    const first = await openApp({ ...options, masterKey: older, startsLoops: false }, () => '')
    await put(first.app, 'one', 's3cret')
    await expect(rotateKeys(first.app, { prune: false })).rejects.toMatchObject({ code: 'no-new-key' })
    const [, added] = readRing(`${older}\n${newer}\n`)
    await first.app.store.write((tx) => putMeta(tx, CURRENT_KEY, added?.id ?? ''))
    await expect(put(first.app, 'two', 's3cret')).rejects.toMatchObject({ code: 'unavailable' })
    expect(await read(first.app, 'two')).toBeUndefined()
    expect(await read(first.app, 'one')).toBe('s3cret')
    await first.close()
    await expect(openApp({ ...options, masterKey: older }, () => '')).rejects.toMatchObject({ code: 'config-invalid' })
  })

  test('still opens what the first version sealed and derived, and rewraps it with a derived key', async () => {
    const master = Buffer.alloc(32, 7).toString('base64')
    const options = { ...(await database.fresh()), masterKey: master, startsLoops: false }
    const [key] = readRing(master)
    const place = contextPlace({ account_id: 'account', id: 'context' }, 'FIELD')
    const first = await openApp(options, () => '')
    const { app } = first
    expect(app.vault.open(place, FIRST_SEALED)).toBe('sealed by the first version ☃')
    expect(app.vault.derive(FIRST_ID, 'bootstrap/b/1')).toBe(FIRST_DERIVED)
    // As the first version left it: everything sealed with the master key itself.
    await app.store.write((tx) => putMeta(tx, CURRENT_KEY, FIRST_ID))
    await put(app, 'old', 's3cret')
    const scene = await openScene(app)
    const build = await submit(scene)
    const start = await startAttempt(scene, build)
    await first.close()
    const second = await openApp(options, () => '')
    expect(await findMeta(second.app.store.query, CURRENT_KEY)).toBe(key?.id)
    expect(await read(second.app, 'old')).toBe('s3cret')
    const { buildToken: token } = await claimAttempt(second.app, start, { ...PROTOCOL, claimKey: 'the-key-of-this-engine' })
    expect(token).toBe(buildToken(second.app.vault, FIRST_ID, { buildId: build.id, attempt: 1 }))
    await pruneKeys(second.app)
    await continueRotation(second.app)
    expect([...(await keysInUse(second.app)).keys()]).toEqual([key?.id])
    expect((await showKeys(second.app)).keys).toMatchObject([{ id: key?.id, state: 'current' }])
    await second.close()
  })
})

/** Created by the first version with a master key of 32 bytes with the value 7. */
const FIRST_ID = 'dc858a414b13700a'
const FIRST_SEALED =
  's1.dc858a414b13700a.5bgPoTy3iQ1HWr9_iFtcX4EaxVe-4R17OJeD_PdyEJFZgTRpaNs9cyUgt4Z4JgsD5T9wM6EOZBkiNzcIjBixOR4U_I3at6AnAXHBkOFTaLS2exTcQOvGYrsk-g1LwLTMfrsEHQ1c5qI3rYiB-569R5iiMV5Zgq8'
const FIRST_DERIVED = 'a96iKrdDx8kjPUgti6dRGVpMYkdXkFJk35XUxDboE-8'
