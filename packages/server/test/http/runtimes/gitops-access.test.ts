/** The question of an app-proxy for the rights of its caller. */
import { appProxyCalls } from '@windlass/client/app-proxy'
import { expect, test } from 'vitest'
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
