/** The question of an app-proxy for the rights of its caller. */
import { appProxyCalls, callEndCalls } from '@windlass/client/app-proxy'
import { newId, systemClock } from '@windlass/kit'
import type { AuditRecord, GitopsCallStart } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { recordLostCalls } from '../../../src/gitops/calls.ts'
import { openHttpScene } from '../../support/http-scene.ts'

test('a caller learns its own rights at a runtime, with the token of that runtime (O025)', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody, server, adminToken } = scene
  const { token: runtimeToken } = await admin.gitopsRuntimes.createToken('prod')
  const other = await admin.gitopsRuntimes.createToken('other')
  const ask = (token: string, given = runtimeToken): ReturnType<ReturnType<typeof appProxyCalls>['access']> =>
    appProxyCalls(nobody.withToken(token)).access('prod', { runtimeToken: given })
  const user = await admin.users.create({ name: 'dan', role: 'developer', password: 'correct horse battery' })
  const { token: key } = await admin.keys.create({ name: 'dan-key', role: 'admin', owner: 'dan' })
  const { token: reader } = await admin.keys.create({ name: 'reader', role: 'admin', owner: 'dan', scopes: ['gitops:read'] })
  const { token: builder } = await admin.keys.create({ name: 'builder', role: 'admin', owner: 'dan', scopes: ['build:write'] })
  const common = { accountId: server.app.accountId, runtime: 'prod', user: { id: user.id, name: 'dan' } }
  expect(await ask(key)).toEqual({ ...common, rights: ['see-gitops', 'change-gitops'], isReadOnly: false })
  expect(await ask(reader)).toEqual({ ...common, rights: ['see-gitops'], isReadOnly: true })
  expect(await ask(adminToken)).toMatchObject({
    rights: ['see-gitops', 'change-gitops', 'manage-gitops'],
    user: { name: 'admin' },
  })
  await expect(ask(builder)).rejects.toMatchObject({ code: 'scope-missing' })
  await expect(ask(runtimeToken)).rejects.toMatchObject({ code: 'forbidden' })
  for (const given of ['nonsense', key, `${runtimeToken}x`, other.token])
    await expect(ask(key, given)).rejects.toMatchObject({ code: 'runtime-token-invalid' })
  await admin.users.change('dan', { role: 'none' })
  expect(await ask(key)).toMatchObject({ rights: [] })
  await admin.gitopsRuntimes.delete('prod')
  await expect(ask(key)).rejects.toMatchObject({ code: 'runtime-token-invalid' })
})

test('a call at an app-proxy has a record with its end or its refusal, one that ends late two, and one of another runtime none (O025)', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody, server, adminToken } = scene
  const { token: runtimeToken } = await admin.gitopsRuntimes.createToken('prod')
  const other = await admin.gitopsRuntimes.createToken('other')
  const { token: reader } = await admin.keys.create({ name: 'reader', role: 'viewer' })
  const begin = (id: string, key = adminToken, more: Partial<GitopsCallStart> = {}) =>
    appProxyCalls(nobody.withToken(key)).beginCall('prod', {
      runtimeToken,
      id,
      right: 'change-gitops',
      action: 'POST /app-proxy/api/applications',
      path: '/app-proxy/api/applications',
      requestId: id,
      ...more,
    })
  const ends = (token = runtimeToken) => callEndCalls(nobody.withToken(token))
  const records = async (): Promise<AuditRecord[]> =>
    (await admin.audit.list({ query: { order: 'oldest', limit: 100, q: '/app-proxy/api/applications' } })).items
  const [denied, ended, lost] = [1, 2, 3].map(() => newId(systemClock.now())) as [string, string, string]
  await expect(begin(denied, reader)).rejects.toMatchObject({ code: 'forbidden' })
  expect(await records()).toMatchObject([
    { actor: 'reader', result: 'denied', requestId: denied, target: 'prod/app-proxy/api/applications' },
  ])
  // Neither what PostgreSQL cannot store, nor a route of the server.
  for (const more of [{ client: 'a\0' }, { path: '/\0' }, { action: 'DELETE /v1/users/{id}' }, { path: '../v1/users/ann' }])
    await expect(begin(ended, adminToken, more)).rejects.toMatchObject({ code: 'request-invalid' })
  await begin(ended)
  await expect(begin(ended)).rejects.toMatchObject({ code: 'conflict' })
  await ends(other.token).end(ended, { result: 'done' })
  expect(await records()).toHaveLength(1)
  await ends().end(ended, { result: 'failed', code: 'git-conflict', detail: 'application shop' })
  await ends().end(ended, { result: 'done' })
  expect((await records()).slice(1)).toMatchObject([
    { result: 'failed', code: 'git-conflict', detail: 'application shop', requestId: ended },
  ])
  // The app-proxy was killed. Its end comes later than it was expected.
  await begin(lost)
  const { app } = server
  await recordLostCalls(app)
  expect(await records()).toHaveLength(2)
  const later = { ...app, clock: { ...app.clock, now: () => app.clock.now() + 3_700_000 } }
  await recordLostCalls(later)
  await recordLostCalls(later)
  await ends().end(lost, { result: 'done' })
  expect((await records()).slice(2)).toMatchObject([
    { result: 'failed', code: 'outcome-unknown', requestId: lost, detail: expect.stringContaining('called at') },
    { result: 'done', requestId: lost },
  ])
  // Also without the scope, whose lack no other route records.
  const keys = [
    await admin.keys.create({ name: 'builder', role: 'admin', scopes: ['build:write'] }),
    await admin.keys.create({ name: 'looker', role: 'admin', scopes: ['gitops:read'] }),
  ]
  for (const { token } of keys)
    await expect(begin(newId(systemClock.now()), token)).rejects.toMatchObject({ code: 'scope-missing' })
  expect((await records()).slice(4)).toMatchObject([
    { actor: 'builder', result: 'denied', code: 'scope-missing' },
    { actor: 'looker', result: 'denied', code: 'scope-missing' },
  ])
})
