/** Calls with an Idempotency-Key whose first answer does not arrive: keys, agents and installations exist once, and the repeat returns the answer. */
import type { ApiClient } from '@windlass/client'
import { fault } from '@windlass/kit'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { App } from '../../src/app.ts'
import { beginRepeatable } from '../../src/http/replies.ts'
import { createKey } from '../../src/identity/keys.ts'
import { openHttpScene, type HttpScene } from '../support/http-scene.ts'

interface Creation {
  readonly what: string
  /** Creates the resource and returns the answer. */
  readonly create: (scene: HttpScene, idempotencyKey: string) => Promise<{ readonly id: string; readonly token?: string }>
  /** Returns the ids of the resources with the name of the new one. */
  readonly list: (scene: HttpScene) => Promise<string[]>
  /** Makes a call with the new token. */
  readonly use: (own: ApiClient) => Promise<unknown>
}

const namesake = ({ name }: { readonly name?: string | undefined }): boolean => name === 'second'

const CREATIONS: readonly Creation[] = [
  {
    what: 'POST /v1/keys',
    create: ({ admin }, idempotencyKey) => admin.keys.create({ name: 'second', role: 'user' }, { idempotencyKey }),
    list: async ({ admin }) => (await admin.keys.list()).items.filter(namesake).map(({ id }) => id),
    use: (own) => own.server.whoami(),
  },
  {
    what: 'POST /v1/agents',
    create: ({ admin }, idempotencyKey) => admin.agents.create({ name: 'second' }, { idempotencyKey }),
    list: async ({ admin }) => (await admin.agents.list()).items.filter(namesake).map(({ id }) => id),
    use: (own) => own.agents.self(),
  },
  {
    what: 'POST /v1/installations',
    create: ({ admin }, idempotencyKey) => admin.installations.create({ name: 'second', options: {} }, { idempotencyKey }),
    list: async ({ admin }) => (await admin.installations.list()).items.filter(namesake).map(({ id }) => id),
    use: (own) => own.server.whoami(),
  },
]

/** Lets the connection to the database break after the commit of the second write from now. The first one records that the call has started. */
function breakAfterEffect(app: App): void {
  const write = app.store.write.bind(app.store)
  let writes = 0
  Object.assign(app.store, {
    async write(work: Parameters<typeof write>[0]) {
      const result = await write(work)
      writes += 1
      if (writes === 2) throw fault('unavailable')
      return result
    },
  })
}

test.each(CREATIONS)('$what answers the repeat if the first answer was lost after the commit', async ({ create, list, use }) => {
  await using scene = await openHttpScene()
  breakAfterEffect(scene.server.app)
  await expect(create(scene, 'a-key')).rejects.toMatchObject({ code: 'unavailable' })
  const answer = await create(scene, 'a-key')
  expect(await list(scene)).toEqual([answer.id])
  expect(await create(scene, 'a-key')).toEqual(answer)
  const { rows } = await sql<{ body: string }>`select body from reply where key = 'a-key'`.execute(scene.server.app.store.query)
  expect(rows).toEqual([{ body: expect.stringMatching(/^s1\./) }])
  const own = scene.nobody.withToken(answer.token ?? scene.adminToken)
  expect(await use(own)).toMatchObject({ name: expect.any(String) })
})

test.each(CREATIONS)('$what creates nothing if its answer cannot be stored', async ({ create, list }) => {
  await using scene = await openHttpScene()
  const { app } = scene.server
  await sql`create trigger fail_reply before update on reply begin select raise(abort, 'no reply'); end`.execute(app.store.query)
  await expect(create(scene, 'a-key')).rejects.toThrow()
  expect(await list(scene)).toEqual([])
  await sql`drop trigger fail_reply`.execute(app.store.query)
  const answer = await create(scene, 'a-key')
  expect(await create(scene, 'a-key')).toEqual(answer)
  expect(await list(scene)).toEqual([answer.id])
})

test.each(CREATIONS)('concurrent calls of $what with one key get the same answer', async ({ create, list }) => {
  await using scene = await openHttpScene()
  const answers = await Promise.all(Array.from({ length: 5 }, () => create(scene, 'a-key')))
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
  expect(await list(scene)).toEqual([answers[0]?.id])
})

test('a call that another server answers first has no effect, and its repeat gets that answer', async () => {
  await using scene = await openHttpScene()
  const { app } = scene.server
  const { id } = await scene.admin.server.whoami()
  const actor = { kind: 'key', id, accountId: app.accountId, name: 'admin', role: 'admin' } as const
  const begin = (dataDir: string): ReturnType<typeof beginRepeatable> =>
    beginRepeatable({ ...app, dataDir }, actor, { key: 'a-key', method: 'POST', url: '/v1/keys', body: {} })
  const [first, second] = [await begin('/first'), await begin('/second')]
  const create = (call: typeof first): ReturnType<typeof createKey> =>
    createKey(app, { name: 'second', role: 'user' }, (tx, key) => call.settle(tx, { status: 201, body: key }))
  const key = await create(first)
  await expect(create(second)).rejects.toMatchObject({ code: 'unavailable', retryable: true })
  for (const call of [first, second]) call.release()
  expect((await begin('/second')).earlier).toMatchObject({ status: 201, body: key })
  expect((await scene.admin.keys.list()).items.filter(namesake)).toHaveLength(1)
})
