/** Calls with an Idempotency-Key whose first answer does not arrive: their effect happens once, and the repeat returns the answer. */
import { ROUTES, type Route as ClientRoute } from '@windlass/client'
import { fault, sha256 } from '@windlass/kit'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { App } from '../../../src/app.ts'
import { putContext } from '../../../src/contexts/contexts.ts'
import { beginRepeatable } from '../../../src/http/replies.ts'
import { allRoutes } from '../../../src/http/routes.ts'
import { isAllowed, type Actor } from '../../../src/identity/actor.ts'
import { openAuthenticator } from '../../../src/identity/authenticate.ts'
import { createKey } from '../../../src/identity/keys/keys.ts'
import { isForSteps } from '../../../src/identity/step-rights.ts'
import { replyPlace } from '../../../src/secrets/places.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { HARMLESS, SETTLED, SETTLED_OF_STEPS, type KeyedCall } from '../keyed-calls.ts'

const CALLS = [
  ...Object.entries(SETTLED).map(([name, prepare]) => ({ name, prepare })),
  ...Object.entries(SETTLED_OF_STEPS).map(([name, prepare]) => ({ name: `${name} of a step`, prepare })),
]

interface Answer {
  readonly status: number
  readonly isReplay: boolean
  readonly body: unknown
}

/** Makes the call with an Idempotency-Key. */
async function send({ server, adminToken }: HttpScene, { path, body, token = adminToken }: KeyedCall): Promise<Answer> {
  const answer = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'idempotency-key': 'a-key' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, isReplay: answer.headers.has('idempotent-replayed'), body: await answer.json() }
}

/** Lets the connection to the database break once, after the commit that stores the answer. */
function breakAfterAnswer(app: App): void {
  const write = app.store.write.bind(app.store)
  let isBroken = false
  Object.assign(app.store, {
    async write(work: Parameters<typeof write>[0]) {
      const { result, isAnswered } = await write(async (tx) => ({
        result: await work(tx),
        isAnswered:
          (await tx.query.selectFrom('reply').select('key').where('key', '=', 'a-key').where('status', '>', 0).execute()).length >
          0,
      }))
      if (!isAnswered || isBroken) return result
      isBroken = true
      throw fault('unavailable')
    },
  })
}

/** Returns the number of rows of each table, except the stored answers, the records of calls, and the samples, which the server takes by itself. */
async function countRows({ store: { query } }: App): Promise<Record<string, unknown>> {
  const { rows: tables } = await sql<{ name: string }>`
    select name from sqlite_master
    where type = 'table' and name not like 'sqlite!_%' escape '!'
      and name not in ('reply', 'audit', 'audit_chain', 'runtime_sample', 'disk_sample')`.execute(query)
  const counts = tables.map(({ name }) => sql`select ${name} as name, (select count(*) from ${sql.table(name)}) as count`)
  const { rows } = await sql<{ name: string; count: number }>`${sql.join(counts, sql` union all `)}`.execute(query)
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}

const COMMON = { id: '', accountId: '', name: '' }
const ADMIN = { ...COMMON, kind: 'key', role: 'admin' } as const
const STEPS = { ...COMMON, kind: 'build', buildId: '', attempt: 1, pipelineId: null, pipeline: null, projectId: null } as const

test.each<{ readonly who: string; readonly actor: Actor; readonly calls: readonly string[] }>([
  { who: 'an API key', actor: ADMIN, calls: [...Object.keys(SETTLED), ...Object.keys(HARMLESS)] },
  { who: 'a step', actor: STEPS, calls: Object.keys(SETTLED_OF_STEPS) },
])('every call that $who can repeat stores its answer with its effect, or is harmless', async ({ actor, calls }) => {
  await using scene = await openHttpScene()
  const { app } = scene.server
  const keyed = allRoutes(app, openAuthenticator(app.store.query, app.vault)).filter(
    ({ method, path, spec: { allow } }) =>
      method === 'POST' &&
      allow !== 'public' &&
      (isAllowed(actor, allow) || (actor.kind === 'build' && isForSteps({ method, path }))),
  )
  expect(calls.toSorted()).toEqual(keyed.map(({ method, path }) => `${method} ${path}`).toSorted())
})

test('the client sends a key with exactly the calls whose answer is stored with their effect', () => {
  const routes = Object.values(ROUTES).flatMap((group) => Object.values<ClientRoute>(group))
  const keyed = routes.filter(({ isKeyed }) => isKeyed === true).map(({ method, path }) => `${method} ${path}`)
  expect(keyed.toSorted()).toEqual(
    Object.keys(SETTLED)
      .filter((name) => name.includes(' /v1/'))
      .toSorted(),
  )
})

test.each(CALLS)(
  '$name returns its answer if the connection to the database breaks after the commit, and again to a repeat',
  async ({ prepare }) => {
    await using scene = await openHttpScene()
    const { app } = scene.server
    const call = await prepare(scene)
    breakAfterAnswer(app)
    const first = await send(scene, call)
    expect(first).toMatchObject({ status: expect.toSatisfy((status) => status < 300), isReplay: true })
    const counts = await countRows(app)
    expect(await send(scene, call)).toEqual(first)
    expect(await countRows(app)).toEqual(counts)
    const { rows } = await sql<{ body: string }>`select body from reply where key = 'a-key'`.execute(app.store.query)
    expect(rows).toEqual([{ body: expect.stringMatching(/^s1\./) }])
  },
)

test.each(CALLS)(
  '$name has no effect if its answer cannot be stored, and concurrent calls with one key get the same answer',
  async ({ prepare }) => {
    await using scene = await openHttpScene()
    const { app } = scene.server
    const call = await prepare(scene)
    const counts = await countRows(app)
    const { query } = app.store
    await sql`create trigger fail_reply before insert on reply begin select raise(abort, 'no reply'); end`.execute(query)
    expect((await send(scene, call)).status).toBeGreaterThanOrEqual(400)
    expect(await countRows(app)).toEqual(counts)
    await sql`drop trigger fail_reply`.execute(query)
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(scene, call)))
    const [first] = answers
    expect(first).toMatchObject({ status: expect.toSatisfy((status) => status < 300) })
    for (const { status, body } of answers) expect({ status, body }).toEqual({ status: first?.status, body: first?.body })
    expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1)
  },
)

test.each([
  { path: '/v1/keys', body: { name: 'second', role: 'developer' }, whose: 'whoami' },
  { path: '/v1/agents', body: { name: 'second' }, whose: 'agent' },
  { path: '/v1/agents/agent/token', body: {}, whose: 'agent' },
])('the token in the repeated answer of $path is valid', async ({ path, body, whose }) => {
  await using scene = await openHttpScene()
  breakAfterAnswer(scene.server.app)
  await send(scene, { path, body })
  const { token } = z.object({ token: z.string() }).parse((await send(scene, { path, body })).body)
  const Owner = z.object({ name: z.string() })
  expect(await scene.nobody.withToken(token).call('GET', `/v1/${whose}`, Owner)).toMatchObject({ name: expect.any(String) })
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
    createKey(app, { name: 'second', role: 'developer' }, (tx, key) => call.settle(tx, { status: 201, body: key }))
  const key = await create(first)
  await expect(create(second)).rejects.toMatchObject({ code: 'unavailable', retryable: true })
  for (const call of [first, second]) call.release()
  expect((await begin('/second')).earlier).toMatchObject({ status: 201, body: key })
  expect((await scene.admin.keys.list()).items.filter(({ name }) => name === 'second')).toHaveLength(1)
})

test('a call that fails because another server has answered it returns that answer', async () => {
  await using scene = await openHttpScene()
  const { app } = scene.server
  const { id } = await scene.admin.server.whoami()
  const actor = { kind: 'key', id, accountId: app.accountId, name: 'admin', role: 'admin' } as const
  const begin = (dataDir: string): ReturnType<typeof beginRepeatable> =>
    beginRepeatable({ ...app, dataDir }, actor, { key: 'a-key', method: 'POST', url: '/v1/contexts', body: {} })
  const [first, second] = [await begin('/first'), await begin('/second')]
  const put = { input: { name: 'second', type: 'config', isDefault: false, data: {} }, mustBeNew: true } as const
  const create = (call: typeof first): ReturnType<typeof putContext> =>
    putContext(app, put, (tx, context) => call.settle(tx, { status: 201, body: context }))
  const { context } = await create(first)
  const refusal: unknown = await create(second).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ code: 'conflict' })
  expect(await second.recover(refusal)).toMatchObject({ status: 201, body: context })
  for (const call of [first, second]) call.release()
})

test('calls without an effect and refused calls leave no row, however often a viewer makes them', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.keys.create({ name: 'viewer', role: 'viewer' }, { idempotencyKey: false })
  const viewer = scene.nobody.withToken(token)
  const document = `version: '1.0'\nsteps: {${Array.from({ length: 50 }, (_, n) => `s${n}: {image: 5}`).join(', ')}}\n`
  for (const n of ['1', '2', '2'])
    await viewer.text('POST', '/v1/validate', { body: { document }, headers: { 'idempotency-key': n } })
  const refused = scene.admin.text('POST', '/v1/keys', { body: { nope: 1 }, headers: { 'idempotency-key': '3' } })
  await expect(refused).rejects.toMatchObject({ code: 'request-invalid' })
  const { rows } = await sql`select key from reply where key in ('1', '2', '3')`.execute(scene.server.app.store.query)
  expect(rows).toEqual([])
})

test('the stored hash of a request does not confirm a guess of its secrets, and survives a rotation of the master key', async () => {
  await using scene = await openHttpScene()
  const call = { path: '/v1/contexts', body: { name: 'pin', type: 'secret', data: { PIN: '4711' } } }
  const first = await send(scene, call)
  const { rows } = await sql`select * from reply where key = 'a-key'`.execute(scene.server.app.store.query)
  const guess = sha256(JSON.stringify(['POST', call.path, call.body]))
  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain(guess)
  await scene.admin.text('POST', '/v1/master-keys/rotation', { body: {} })
  expect(await send(scene, call)).toEqual({ ...first, isReplay: true })
  const other = { ...call, body: { ...call.body, data: { PIN: '4712' } } }
  expect(await send(scene, other)).toMatchObject({ status: 422, body: { code: 'idempotency-mismatch' } })
})

test('returns the answer that a server of an earlier version stored', async () => {
  await using scene = await openHttpScene()
  const { store, vault, accountId } = scene.server.app
  const call = { path: '/v1/projects', body: { name: 'second' } }
  const first = await send(scene, call)
  const { id: actorId } = await scene.admin.server.whoami()
  const digest = sha256(JSON.stringify(['POST', call.path, call.body]))
  await store.write(async (tx) => {
    const sealed = (await vault.sealer(tx)).seal(replyPlace({ accountId, actorId, key: 'a-key' }), JSON.stringify(first.body))
    await tx.query.updateTable('reply').set({ request_hash: digest, body: sealed }).where('key', '=', 'a-key').execute()
  })
  expect(await send(scene, call)).toEqual({ ...first, isReplay: true })
})
