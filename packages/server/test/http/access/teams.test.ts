/** Teams over HTTP: members have the roles of their teams in addition to their own. */
import type { ApiClient } from '@windlass/client'
import { expect, test } from 'vitest'
import { browse, signIn } from '../../support/browser.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const PASSWORD = 'correct horse battery'

/** Creates a user without a role, and a key with all rights of the user. */
async function addUser({ admin, nobody }: HttpScene, name: string): Promise<ApiClient> {
  await admin.users.create({ name, role: 'none', password: PASSWORD })
  return nobody.withToken((await admin.keys.create({ name: `${name}-key`, role: 'admin', owner: name })).token)
}

test('a member has the higher one of each own role and the roles of the teams, until the membership ends', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  for (const name of ['shop/app', 'other/app']) await admin.pipelines.create({ name, document: HELLO })
  const mira = await addUser(scene, 'mira')
  await admin.users.grant('mira', 'shop', { role: 'viewer' })
  await expect(mira.builds.create({ pipeline: 'shop/app' })).rejects.toMatchObject({ code: 'forbidden' })
  await admin.teams.create({ name: 'payments', projects: { shop: 'developer', other: 'viewer' }, members: ['mira'] })
  expect(await mira.builds.create({ pipeline: 'shop/app' })).toMatchObject({ initiator: 'mira' })
  expect((await mira.projects.list()).items.map(({ name }) => name)).toEqual(['other', 'shop'])
  await admin.teams.create({ name: 'leads', role: 'maintainer', members: ['mira'] })
  expect(await mira.server.whoami()).toMatchObject({ role: 'maintainer' })
  const cookie = await signIn(scene, { name: 'mira', password: PASSWORD })
  expect(await browse(scene, 'GET', '/v1/sessions/current', { cookie })).toMatchObject({ body: { role: 'maintainer' } })
  expect(await admin.users.get('mira')).toMatchObject({ role: 'none', teams: ['leads', 'payments'] })
  await admin.teams.change('leads', { role: 'viewer' })
  expect(await mira.server.whoami()).toMatchObject({ role: 'viewer' })
  expect(await admin.teams.removeMember('payments', 'mira')).toMatchObject({ members: [] })
  await expect(mira.builds.create({ pipeline: 'shop/app' })).rejects.toMatchObject({ code: 'forbidden' })
  await admin.teams.delete('leads')
  expect(await mira.server.whoami()).toMatchObject({ role: 'none' })
  expect((await mira.projects.list()).items.map(({ name }) => name)).toEqual(['shop'])
})

test('a key with fewer rights than the teams of its owner give cannot create keys', async () => {
  await using scene = await openHttpScene()
  const mira = await addUser(scene, 'mira')
  await scene.admin.teams.create({ name: 'leads', role: 'maintainer', members: ['mira'] })
  const { token } = await mira.keys.create({ name: 'low', role: 'developer' })
  const low = scene.nobody.withToken(token)
  expect(await low.server.whoami()).toMatchObject({ role: 'developer' })
  await expect(low.keys.create({ name: 'more', role: 'developer' })).rejects.toMatchObject({ code: 'forbidden' })
})

test('members and roles change, and unknown names are refused without a change', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await addUser(scene, 'mira')
  await addUser(scene, 'jo')
  await admin.teams.create({ name: 'payments' })
  await admin.teams.addMember('payments', 'mira')
  await admin.teams.addMember('payments', 'mira')
  expect(await admin.teams.get('payments')).toMatchObject({ role: 'none', members: ['mira'], projects: {} })
  expect(await admin.teams.change('payments', { members: ['jo', 'mira', 'jo'] })).toMatchObject({ members: ['jo', 'mira'] })
  await expect(admin.teams.create({ name: 'payments' })).rejects.toMatchObject({ code: 'conflict' })
  await expect(admin.teams.create({ name: 'other', members: ['unknown'] })).rejects.toMatchObject({ code: 'not-found' })
  await expect(admin.teams.change('payments', { role: 'viewer', members: ['unknown'] })).rejects.toMatchObject({
    code: 'not-found',
  })
  await expect(admin.teams.change('payments', { projects: { nowhere: 'viewer' } })).rejects.toMatchObject({ code: 'not-found' })
  await expect(admin.teams.addMember('unknown', 'jo')).rejects.toMatchObject({ code: 'not-found' })
  await admin.users.delete('jo')
  expect((await admin.teams.list()).items).toEqual([
    expect.objectContaining({ name: 'payments', role: 'none', members: ['mira'] }),
  ])
})

test('the role of a team does not count as the last admin, and the audit log says what changed', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await addUser(scene, 'mira')
  await admin.teams.create({ name: 'root', role: 'admin', members: ['mira'] })
  await expect(admin.users.change('admin', { role: 'viewer' })).rejects.toMatchObject({ code: 'conflict' })
  const { items } = await admin.audit.list({ query: { result: 'done', limit: 1 } })
  expect(items[0]).toMatchObject({ action: 'POST /v1/teams', detail: 'team root, role admin, projects none, members mira' })
})
