import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isFault, newToken } from '@windlass/kit'
import { ContextInput, PipelineInput } from '@windlass/protocol'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { putContext } from '../../../src/contexts/contexts.ts'
import { openApp } from '../../../src/open-app.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { contextPlace, type Place } from '../../../src/secrets/places.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import {
  feedOf,
  HELLO,
  openScene,
  PROTOCOL,
  report,
  runAttempt,
  say,
  startAttempt,
  started,
  submit,
  take,
  tell,
} from '../../support/scene.ts'

/** Returns the whole database as text. */
async function dump(app: App): Promise<string> {
  const tables = await app.store.query.introspection.getTables()
  const rows = await Promise.all(tables.map(({ name }) => sql`select * from ${sql.table(name)}`.execute(app.store.query)))
  return JSON.stringify(rows.map((result) => result.rows))
}

describe.each(DATABASES)('secrets on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('gives secret values only to the engine: not to the database, the feed or the API', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const put = async (input: object): Promise<unknown> => putContext(app, { input: ContextInput.parse(input), mustBeNew: true })
    await put({ name: 'db', type: 'secret', data: { DB_PASSWORD: 's3cret-of-context' } })
    await put({ name: 'settings', type: 'config', data: { REGION: 'north' } })
    const shown = await put({
      name: 'hub',
      type: 'registry',
      isDefault: true,
      data: { domain: 'r.test', username: 'me', password: 's3cret-of-registry' },
    })
    expect(JSON.stringify(shown)).toContain('*****')
    const document = `kind: pipeline\nmetadata:\n  name: p/q\nspec:\n  variables:\n    - key: TOKEN\n      value: s3cret-in-document\n      encrypted: true\n    - key: OPEN\n      value: seen\n  contexts: [db, settings]\n  steps:\n    one:\n      image: alpine\n      commands: [echo]\n`
    const { pipeline } = await putPipeline(app, { input: PipelineInput.parse({ name: 'p/q', document }), precondition: {} })
    expect(JSON.stringify(pipeline)).not.toContain('s3cret')
    const build = await submit(scene, { document: undefined, pipeline: 'p/q', secrets: { ONCE: 's3cret-of-run' } })
    const start = await startAttempt(scene, build)
    const claimed = await claimAttempt(app, start, { ...PROTOCOL, claimKey: 'the-key-of-this-engine' })
    expect(Object.values(claimed.secrets).toSorted()).toEqual(['s3cret-in-document', 's3cret-of-context', 's3cret-of-run'])
    expect(claimed.registries).toMatchObject([
      { context: 'hub', domain: 'r.test', isDefault: true, password: 's3cret-of-registry' },
    ])
    expect(JSON.stringify(claimed.plan)).not.toContain('s3cret')
    const finished = { type: 'step.finished', step: 'one', try: 1, status: 'success', exitCode: 0, members: {} } as const
    await say(app, start, started, {
      ...finished,
      exports: [{ name: 'X', value: 's3cret-exported', secret: true }],
      members: { url: 's3cret-member', open: 'seen-member' },
      outputs: { token: 's3cret-output', plain: 'seen-output' },
      sealed: { members: ['url'], outputs: ['token'] },
    })
    const feed = JSON.stringify(await feedOf(app, build.id, { after: 0, limit: 100 }))
    expect(feed).toContain('*****')
    for (const text of [feed, await dump(app)]) expect(text).not.toContain('s3cret')
    const all = await dump(app)
    expect(all).not.toContain(start.engine.bootstrap.split('.')[1])
    expect(all).not.toContain(claimed.token.split('.')[1])
  })

  test('restores a secret export for the next attempt', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    const done = { type: 'step.finished', step: 'one', try: 1, status: 'success', exitCode: 0, members: {} } as const
    await say(held.app, key, started, {
      ...done,
      exports: [{ name: 'X', value: 's3cret', secret: true }],
      members: { url: 's3cret-member' },
      outputs: { token: 's3cret-output' },
      sealed: { members: ['url'], outputs: ['token'] },
    })
    await tell(scene, { ...key, state: 'lost', reason: 'evicted' })
    for (const task of await take(scene)) await report(scene, task, 'done')
    const claimed = await claimAttempt(held.app, await startAttempt(scene, build), {
      ...PROTOCOL,
      claimKey: 'the-key-of-the-next',
    })
    expect(claimed.snapshot.exports).toMatchObject([{ name: 'X', value: 's3cret', secret: true }])
    expect(Object.values(claimed.snapshot.steps)).toContainEqual(
      expect.objectContaining({
        members: { url: 's3cret-member' },
        output: { X: 's3cret', token: 's3cret-output' },
        sealed: { members: ['url'], outputs: ['token'] },
      }),
    )
  })

  test('keeps a stored value for *****, and rejects it if there is none', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const variables = (value: string): object => ({
      name: 'p/v',
      document: HELLO,
      variables: [{ key: 'T', value, encrypted: true }],
    })
    await expect(putPipeline(app, { input: PipelineInput.parse(variables('*****')), precondition: {} })).rejects.toSatisfy(
      (error) => isFault(error, 'request-invalid'),
    )
    await putPipeline(app, { input: PipelineInput.parse(variables('s3cret')), precondition: {} })
    await putPipeline(app, { input: PipelineInput.parse(variables('*****')), precondition: {} })
    const start = await startAttempt(scene, await submit(scene, { document: undefined, pipeline: 'p/v' }))
    const claimed = await claimAttempt(app, start, { ...PROTOCOL, claimKey: 'the-key-of-this-engine' })
    expect(Object.values(claimed.secrets)).toEqual(['s3cret'])
  })

  test('refuses to start with another master key and changes nothing', async () => {
    const options = { ...(await database.fresh()), startsLoops: false }
    const first = await openApp(options, () => '')
    await first.close()
    const file = join(options.dataDir, 'master.key')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const key = readFileSync(file, 'utf8')
    writeFileSync(file, Buffer.alloc(32, 7).toString('base64'))
    await expect(openApp(options, () => '')).rejects.toMatchObject({ code: 'config-invalid' })
    writeFileSync(file, key)
    await (await openApp(options, () => '')).close()
    await (await openApp({ ...options, masterKey: key.trim() }, () => '')).close()
  })

  test('does not open a sealed text at another place', async () => {
    await using held = await openTestApp(database)
    const { vault, store } = held.app
    const place = (id: string): Place => contextPlace({ account_id: 'a', id }, 'FIELD')
    const seal = (): Promise<string> => store.write(async (tx) => (await vault.sealer(tx)).seal(place('b'), 'text'))
    const sealed = await seal()
    expect(vault.open(place('b'), sealed)).toBe('text')
    expect(() => vault.open(place('c'), sealed)).toThrow('damaged or moved')
    expect(() => vault.open(place('b'), `${sealed.slice(0, -2)}AA`)).toThrow('damaged or moved')
    expect(await seal()).not.toBe(sealed)
    expect(newToken(0).text).toMatch(/^[0-9a-f]{24}\./)
  })
})

test('rejects a second server on the same SQLite folder', async () => {
  await using database = await DATABASES[0].open()
  const options = { ...(await database.fresh()), startsLoops: false }
  const first = await openApp(options, () => '')
  await expect(openApp(options, () => '')).rejects.toMatchObject({ code: 'store-locked' })
  await first.close()
  await (await openApp(options, () => '')).close()
})
