/** Paging over sealed texts: bounded pages, and rows that cannot be read. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { rotateKeys, showKeys } from '../../../src/secrets/master-keys.ts'
import { eventPlace, replyPlace } from '../../../src/secrets/places.ts'
import { continueRotation } from '../../../src/secrets/rotation.ts'
import { SEALED_ROWS } from '../../../src/secrets/sealed-rows.ts'
import { storeReply } from '../../../src/store/account/replies.ts'
import { keysInUse, lines, put, read } from '../../support/master-keys.ts'
import { openScene, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const MEBIBYTE = 1024 * 1024

/** Stores events of a build, each with one value, sealed if `secret`. */
async function plant(app: App, id: string, values: readonly { value: string; secret: boolean }[], from: number): Promise<void> {
  const { accountId: account_id } = app
  await app.store.write(async (tx) => {
    const sealer = await app.vault.sealer(tx)
    const rows = values.map(({ value, secret }, index) => {
      const stored = secret ? sealer.seal(eventPlace({ id, account_id }), value) : value
      const data = JSON.stringify({ type: 'step.finished', exports: [{ name: 'A', value: stored, secret }] })
      const position = from + index
      const row = { build_id: id, account_id, position, attempt: 9, source: 'engine', seq: position, at: 1 }
      return { ...row, type: 'step.finished', data }
    })
    await tx.query
      .insertInto('event')
      .values(rows as never)
      .execute()
  })
}

describe.each(DATABASES)('sealed rows on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('limits the size of a page of events and reads every event once', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    const [large, small] = [await submit({ app }), await submit({ app })]
    await plant(
      app,
      large.id,
      Array.from({ length: 5 }, () => ({ value: 'x'.repeat(MEBIBYTE), secret: true })),
      1_000,
    )
    await plant(app, large.id, [{ value: 'x'.repeat(5 * MEBIBYTE), secret: true }], 2_000)
    await plant(
      app,
      small.id,
      Array.from({ length: 600 }, () => ({ value: 'x', secret: false })),
      1_000,
    )
    await plant(
      app,
      small.id,
      Array.from({ length: 130 }, () => ({ value: 'x', secret: true })),
      2_000,
    )
    const seen: string[] = []
    const [rows, bytes]: [number[], number[]] = [[], []]
    for (let after: string | undefined = ''; after !== undefined;) {
      const page = await SEALED_ROWS.event(app.store.query, after)
      seen.push(...page.rows.map(({ id }) => id))
      rows.push(page.rows.length)
      bytes.push(page.rows.length > 1 ? page.rows.reduce((sum, { value }) => sum + value.length, 0) : 0)
      after = page.next
    }
    expect([seen.length, new Set(seen).size]).toEqual([136, 136])
    expect(Math.max(...rows)).toBeLessThanOrEqual(50)
    expect(Math.max(...bytes)).toBeLessThanOrEqual(4 * MEBIBYTE)
    const { keys } = await rotateKeys(app, { prune: false })
    await continueRotation(app)
    expect((await showKeys(app)).rotation).toMatchObject({ unreadable: 0, rewrapped: { event: 136 } })
    expect([...(await keysInUse(app)).keys()]).toEqual([keys.at(-1)?.id])
  })

  test('counts a row that cannot be read and continues', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    const build = await submit({ app })
    await plant(app, build.id, [{ value: 'x', secret: true }], 1_000)
    for (const name of ['damaged', 'good']) await put(app, name, 's3cret')
    const { query } = app.store
    await query.updateTable('context').set({ data: '{"FIELD":' }).where('name', '=', 'damaged').execute()
    await query.updateTable('event').set({ data: '["s1."s1.' }).where('position', '=', 1_000).execute()
    await rotateKeys(app, { prune: true })
    await continueRotation(app)
    expect((await showKeys(app)).rotation).toMatchObject({ unreadable: 2, rewrapped: { context: 1 }, prunes: false })
    expect([await read(app, 'good'), lines(app.dataDir).length]).toEqual(['s3cret', 1])
  })

  test('reads a row before which others are inserted while its page is read', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const write = async (key: string): Promise<void> => {
      const id = { accountId: app.accountId, actorId: 'mira', key }
      await app.store.write(async (tx) => {
        const body = (await app.vault.sealer(tx)).seal(replyPlace(id), key)
        await storeReply(tx, { ...id, requestHash: 'sealed', status: 200, body, now: 1 })
      })
    }
    await write('m')
    let isFirst = true
    const query = app.store.query.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (isFirst) {
          isFirst = false
          await write('a')
        }
        return result
      },
    })
    const { rows, next } = await SEALED_ROWS.reply(query, '')
    expect([rows.map(({ id }) => JSON.parse(id)[2]), next]).toEqual([['a', 'm'], undefined])
  })
})
