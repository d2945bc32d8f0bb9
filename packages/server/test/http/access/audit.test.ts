/** The audit log over HTTP: what is recorded, by whom, with which result. */
import { sha256 } from '@windlass/kit'
import { openAuditCheck, type AuditRecord } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { browse, signIn } from '../../support/browser.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const PASSWORD = 'correct horse battery'

async function recordsOf(scene: HttpScene): Promise<AuditRecord[]> {
  return (await scene.admin.audit.list({ query: { order: 'oldest', limit: 500 } })).items
}

/** Returns the records that `work` adds, without the fields that differ in each run. */
async function added(scene: HttpScene, work: () => Promise<unknown>): Promise<object[]> {
  const before = await recordsOf(scene)
  await work()
  return (await recordsOf(scene)).slice(before.length)
}

test('records who called what, from where, with which result', async () => {
  await using scene = await openHttpScene()
  const [record] = await added(scene, () => scene.admin.pipelines.create({ name: 'team/app', document: HELLO }))
  const { id } = await scene.admin.server.whoami()
  expect(record).toEqual({
    seq: expect.any(Number),
    at: expect.any(Number),
    kind: 'key',
    actorId: id,
    actor: 'admin',
    owner: 'admin',
    action: 'POST /v1/pipelines',
    target: '/v1/pipelines',
    result: 'done',
    detail: 'pipeline team/app, version 1',
    address: '127.0.0.1',
    requestId: expect.any(String),
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect((await recordsOf(scene))[0]).toMatchObject({ action: 'POST /v1/bootstrap', actor: 'admin', result: 'done' })
})

test('records sign-ins with the user, and failed ones with the name that was given', async () => {
  await using scene = await openHttpScene()
  await scene.admin.users.create({ name: 'mira', password: PASSWORD })
  const { id } = await scene.admin.users.get('mira')
  const records = await added(scene, async () => {
    const cookie = await signIn(scene, { name: 'mira', password: PASSWORD })
    await signIn(scene, { name: 'mira', password: 'wrong' })
    await signIn(scene, { name: 'unknown', password: PASSWORD })
    await signIn(scene, { key: scene.adminToken })
    await signIn(scene, { key: 'x' })
    await browse(scene, 'DELETE', '/v1/sessions/current', { cookie })
  })
  const action = 'POST /v1/sessions'
  expect(records).toEqual([
    expect.objectContaining({ action, kind: 'user', actorId: id, actor: 'mira', owner: 'mira', result: 'done' }),
    expect.objectContaining({ action, kind: 'nobody', actor: 'mira', result: 'failed', code: 'unauthenticated' }),
    expect.objectContaining({ action, kind: 'nobody', actor: 'unknown', result: 'failed', code: 'unauthenticated' }),
    expect.objectContaining({ action, kind: 'key', actor: 'admin', owner: 'admin', result: 'done' }),
    expect.objectContaining({ action, kind: 'nobody', actor: '', result: 'failed', code: 'unauthenticated' }),
    expect.objectContaining({ action: 'DELETE /v1/sessions/current', kind: 'user', actor: 'mira', result: 'done' }),
  ])
  expect(JSON.stringify(records)).not.toContain(PASSWORD)
})

test('records refused and failed calls, but no reads and no calls that change nothing', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.keys.create({ name: 'low', role: 'viewer' })
  const { token: scoped } = await scene.admin.keys.create({ name: 'scoped', role: 'admin', scopes: ['build:read'] })
  const low = scene.nobody.withToken(token)
  const records = await added(scene, async () => {
    await low.pipelines.list()
    await low.pipelines.validate({ document: HELLO }).catch(() => undefined)
    await low.text('POST', '/v1/pipelines', { body: { name: 'a', document: HELLO } }).catch(() => undefined)
    await scene.nobody
      .withToken(scoped)
      .pipelines.delete('a')
      .catch(() => undefined)
    await scene.admin.pipelines.delete('missing').catch(() => undefined)
    await scene.admin.text('POST', '/v1/pipelines', { body: { name: '' } }).catch(() => undefined)
    await low.audit.list().catch(() => undefined)
  })
  expect(
    records.map((record) => record as AuditRecord).map(({ actor, action, result, code }) => [actor, action, result, code]),
  ).toEqual([
    ['low', 'POST /v1/pipelines', 'denied', 'forbidden'],
    ['scoped', 'DELETE /v1/pipelines/{name}', 'denied', 'scope-missing'],
    ['admin', 'DELETE /v1/pipelines/{name}', 'failed', 'not-found'],
  ])
})

test('records a repeated call once, the writes of steps, and not the reports of engines and agents', async () => {
  await using scene = await openHttpScene()
  await scene.admin.pipelines.create({ name: 'team/app', document: HELLO })
  const records = await added(scene, async () => {
    for (let n = 0; n < 3; n += 1) await scene.admin.keys.create({ name: 'once' }, { idempotencyKey: 'the-same' })
    const { build, engine } = await scene.start({ pipeline: 'team/app', document: undefined })
    const steps = scene.nobody.withToken(engine.claimed.buildToken ?? '')
    await steps.builds.create({ pipeline: 'team/app' })
    await engine.succeed()
    expect(build.status).toBe('pending')
  })
  expect(records.map((record) => record as AuditRecord).map(({ kind, actor, action }) => [kind, actor, action])).toEqual([
    ['key', 'admin', 'POST /v1/keys'],
    ['key', 'admin', 'POST /v1/builds'],
    ['build', 'build 1', 'POST /v1/builds'],
  ])
})

test('says what changed where the path does not, and masks keys in paths', async () => {
  await using scene = await openHttpScene()
  await scene.admin.pipelines.create({ name: 'shop/app', document: HELLO })
  const records = await added(scene, async () => {
    await scene.admin.users.create({ name: 'mira', role: 'viewer', projects: { shop: 'developer' } })
    await scene.admin.users.change('mira', { role: 'developer', disabled: true })
    await scene.admin.users.grant('mira', 'shop', { role: 'admin' })
    await scene.admin.text('DELETE', `/api/auth/key/${scene.adminToken}`).catch(() => undefined)
  })
  expect(records.map((record) => (record as AuditRecord).detail)).toEqual([
    'user mira, role viewer, projects shop: developer',
    'mira: role viewer to developer, disabled',
    'mira: admin in shop',
    undefined,
  ])
  expect(records.at(-1)).toMatchObject({ target: expect.stringMatching(/^\/api\/auth\/key\/[0-9a-f]{24}\.\*{5}$/) })
  expect(JSON.stringify(records)).not.toContain(scene.adminToken.split('.')[1])
})

test('pages in both directions make one chain whose end the server names', async () => {
  await using scene = await openHttpScene()
  for (let n = 0; n < 6; n += 1) await scene.admin.projects.create({ name: `p${n}` })
  const read = async (order: 'newest' | 'oldest'): Promise<AuditRecord[]> => {
    const records: AuditRecord[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await scene.admin.audit.list({ query: { order, limit: 4, cursor } })
      records.push(...page.items)
      cursor = page.next
    }
    return records
  }
  const [oldest, newest] = [await read('oldest'), await read('newest')]
  expect(newest).toEqual(oldest.toReversed())
  const { last, deleted } = await scene.admin.audit.chain()
  const check = openAuditCheck(deleted, sha256)
  expect(oldest.map(check).filter((problem) => problem !== undefined)).toEqual([])
  expect(oldest.at(-1)).toMatchObject(last)
  expect((await scene.admin.audit.list({ query: { user: 'nobody-like-this' } })).items).toEqual([])
  await expect(scene.admin.audit.list({ query: { cursor: 'x' } })).rejects.toMatchObject({ code: 'request-invalid' })
})

test('a call without the right fills the log at most sixty times a minute', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.keys.create({ name: 'low', role: 'viewer' })
  const low = scene.nobody.withToken(token)
  for (let n = 0; n < 70; n += 1) await low.text('DELETE', '/v1/pipelines/x').catch(() => undefined)
  expect((await scene.admin.audit.list({ query: { result: 'denied', limit: 500 } })).items).toHaveLength(60)
})
