/** Users with a role only for one pipeline: every route with every role, for this pipeline and for another one of the same project. */
import { RIGHTS, roleHasRight, ROLES } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { Route } from '../../../src/http/route.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import {
  addAccounts,
  ask,
  HIDDEN,
  needsTriggers,
  openPipelines,
  pathAt,
  putPipelines,
  routesWithRights,
  type Accounts,
  type Builds,
  type PipelineName,
} from '../../support/role-scene.ts'

const NAMES = ['shop/app', 'shop/second', 'other/app'] as const satisfies readonly PipelineName[]

/** Creates the pipelines with triggers and a build each, and a user with each role for `shop/app`. */
async function openRoles(scene: HttpScene): Promise<Accounts & { readonly builds: Builds }> {
  const builds = await openPipelines(scene, NAMES)
  return { builds, ...(await addAccounts(scene, (role) => ({ pipelines: { 'shop/app': role } }))) }
}

function deletesPipeline({ method, spec }: Route): boolean {
  return method === 'DELETE' && spec.project === 'pipeline' && spec.allow === 'change-pipelines'
}

test('each role may call for its pipeline what the table of rights says, and sees no other pipeline', async () => {
  await using scene = await openHttpScene()
  const { tokens, builds } = await openRoles(scene)
  let placed = 0
  // A new pipeline of the same name has neither the builds nor the roles of the deleted one.
  const calls = routesWithRights(scene).toSorted((a, b) => Number(deletesPipeline(a.route)) - Number(deletesPipeline(b.route)))
  for (const { route, right } of calls) {
    const { project } = route.spec
    for (const role of ROLES) {
      if (needsTriggers(route)) await putPipelines(scene.admin, NAMES)
      if (deletesPipeline(route)) await scene.admin.users.grantPipeline(`shop-${role}`, 'shop/app', { role })
      const inside = await ask(scene, { ...route, path: pathAt(route, 'shop/app', builds) }, tokens[role])
      const name = `${role}: ${route.method} ${route.path}`
      const isHeld = roleHasRight(role, right) && RIGHTS[right].at === 'pipeline'
      if (project === undefined) expect([name, inside]).toEqual([name, 'forbidden'])
      else if (project === 'handler') expect([name, inside === 'forbidden']).toEqual([name, !isHeld])
      else {
        const beside = await ask(scene, { ...route, path: pathAt(route, 'shop/second', builds) }, tokens[role])
        const isOfPipeline = project !== 'project' && project !== 'image'
        const expected = !isOfPipeline ? 'hidden' : isHeld ? 'let in' : 'forbidden'
        expect([name, inside, beside]).toEqual([name, expected, 'hidden'])
        placed += 1
      }
    }
  }
  expect(placed).toBeGreaterThan(130)
})

test('lists have only what belongs to the pipeline, also in /api', async () => {
  await using scene = await openHttpScene()
  const { users, tokens, builds } = await openRoles(scene)
  const { viewer } = users
  const own = builds['shop/app']?.id
  expect((await viewer.builds.list()).items.map(({ id }) => id)).toEqual([own])
  expect((await viewer.builds.list({ query: { project: 'shop' } })).items.map(({ id }) => id)).toEqual([own])
  expect((await viewer.builds.list({ query: { pipeline: 'shop/second' } })).items).toEqual([])
  expect((await viewer.pipelines.list()).items.map(({ name }) => name)).toEqual(['shop/app'])
  expect((await viewer.projects.list()).items).toEqual([])
  expect((await viewer.triggers.list()).items.map(({ pipeline }) => pipeline)).toEqual(['shop/app'])
  await expect(viewer.triggers.list({ query: { pipeline: 'shop/second' } })).rejects.toMatchObject({ code: 'not-found' })
  const read = async (path: string, token = tokens.viewer): Promise<unknown> =>
    (await fetch(scene.server.url + path, { headers: { authorization: token } })).json()
  expect(await read('/api/pipelines/names')).toMatchObject([{ name: 'shop/app' }])
  expect(await read('/api/pipelines')).toMatchObject({ count: 1, docs: [{ metadata: { name: 'shop/app' } }] })
  expect(await read('/api/workflow')).toMatchObject({ workflows: { count: 1, docs: [{ id: own }] } })
  expect(await read('/api/projects')).toMatchObject({ count: 0 })
  const { id } = await viewer.pipelines.get('shop/app')
  expect(await read('/api/hermes/triggers')).toMatchObject([{ pipeline: id }, { pipeline: id }])
  expect(await read('/api/hermes/triggers', scene.adminToken)).toHaveLength(6)
  expect(await read('/api/workflow', scene.adminToken)).toMatchObject({ workflows: { count: 3 } })
})

test('calls of /api that name the build or the entity outside of the path need the role there', async () => {
  await using scene = await openHttpScene()
  const { tokens, builds } = await openRoles(scene)
  const call = async (method: string, path: string, body?: object): Promise<number> => {
    const headers = { authorization: tokens.developer, ...(body && { 'content-type': 'application/json' }) }
    return (await fetch(scene.server.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })).status
  }
  const [own, other] = [builds['shop/app']?.id ?? '', builds['shop/second']?.id ?? '']
  for (const [id, status] of [
    [own, 200],
    [other, 404],
    ['f'.repeat(24), 404],
  ] as const) {
    const entity = { entityId: id, entityType: 'workflow' }
    expect(await call('GET', `/api/annotations?${String(new URLSearchParams(entity))}`)).toBe(status)
    expect(await call('POST', '/api/annotations', { ...entity, key: 'a', value: 'b' })).toBe(status)
    expect(await call('GET', `/api/builds/${id}`)).toBe(status)
  }
  expect(await call('GET', `/api/user/firebaseAuth?progressId=${other}`)).toBe(404)
  expect(await call('POST', '/api/pipelines/run/shop%2Fapp', {})).toBe(200)
  expect(await call('POST', '/api/pipelines/run/shop%2Fsecond', {})).toBe(404)
  const manifest = (name: string) => ({ version: '1.0', kind: 'pipeline', metadata: { name }, spec: { steps: {} } })
  expect(await call('POST', '/api/pipelines', manifest('shop/third'))).toBe(404)
  expect(await call('PUT', '/api/pipelines/shop%2Fapp', manifest('shop/app'))).toBe(200)
  expect(await call('PUT', '/api/pipelines/shop%2Fapp', manifest('shop/third'))).toBe(404)
})

test('a build of the pipeline and of a project with a role is once in a list', async () => {
  await using scene = await openHttpScene()
  const { builds } = await openRoles(scene)
  const { admin } = scene
  const roles = { projects: { other: 'viewer' }, pipelines: { 'shop/app': 'viewer', 'other/app': 'developer' } } as const
  await admin.users.create({ name: 'both', kind: 'service-account', role: 'none', ...roles })
  const both = scene.nobody.withToken((await admin.keys.create({ name: 'b', owner: 'both', role: 'admin' })).token)
  const found = (await both.builds.list()).items.map(({ id }) => id)
  expect(found).toEqual([builds['other/app']?.id, builds['shop/app']?.id])
  expect((await both.builds.counts({ query: { by: 'pipeline' } })).items.map(({ count }) => count)).toEqual([1, 1])
  await both.builds.create({ pipeline: 'other/app' })
  await expect(both.builds.create({ pipeline: 'shop/app' })).rejects.toMatchObject({ code: 'forbidden' })
})

test('a role for a pipeline neither creates nor renames pipelines, and starts no other', async () => {
  await using scene = await openHttpScene()
  const { developer } = (await openRoles(scene)).users
  const hidden = { code: 'not-found', message: HIDDEN }
  await developer.pipelines.put('shop/app', { name: 'shop/app', document: HELLO })
  await expect(developer.pipelines.create({ name: 'shop/third', document: HELLO })).rejects.toMatchObject(hidden)
  for (const name of ['shop/renamed', 'other/app', 'other/renamed'])
    await expect(developer.pipelines.put('shop/app', { name, document: HELLO }), name).rejects.toMatchObject(hidden)
  expect(await developer.builds.create({ pipeline: 'shop/app' })).toMatchObject({ pipeline: 'shop/app' })
  await expect(developer.builds.create({ pipeline: 'shop/second' })).rejects.toMatchObject(hidden)
  await expect(developer.builds.create({ document: HELLO })).rejects.toMatchObject(hidden)
})

test('roles for a pipeline follow a new name, and end with the pipeline', async () => {
  await using scene = await openHttpScene()
  const { users } = await openRoles(scene)
  const { admin } = scene
  await admin.pipelines.put('shop/app', { name: 'shop/renamed', document: HELLO })
  expect(await admin.users.get('shop-viewer')).toMatchObject({ projects: {}, pipelines: { 'shop/renamed': 'viewer' } })
  expect((await users.viewer.pipelines.list()).items.map(({ name }) => name)).toEqual(['shop/renamed'])
  await admin.pipelines.delete('shop/renamed')
  await putPipelines(admin, ['shop/app'])
  expect(await admin.users.get('shop-viewer')).toMatchObject({ pipelines: {} })
  expect(await scene.server.app.store.query.selectFrom('pipeline_role').selectAll().execute()).toEqual([])
})

test('an admin of a pipeline or project who grants a role learns nothing else about the user', async () => {
  await using scene = await openHttpScene()
  const { users } = await openRoles(scene)
  const { admin } = scene
  await admin.users.create({ name: 'mira', displayName: 'Mira', role: 'viewer', projects: { other: 'admin' } })
  await admin.teams.create({ name: 'secret', members: ['mira'] })
  await admin.users.create({ name: 'lead', kind: 'service-account', role: 'none', projects: { shop: 'admin' } })
  const lead = scene.nobody.withToken((await admin.keys.create({ name: 'l', owner: 'lead', role: 'admin' })).token)
  const grant = { role: 'developer' } as const
  expect(await users.admin.users.grantPipeline('mira', 'shop/app', grant)).toEqual({
    name: 'mira',
    projects: {},
    pipelines: { 'shop/app': 'developer' },
  })
  expect(await lead.users.grant('mira', 'shop', grant)).toEqual({ name: 'mira', projects: { shop: 'developer' }, pipelines: {} })
  const narrow = await admin.keys.create({ name: 'narrow', role: 'admin', scopes: ['user:write', 'user:read'] })
  expect(await scene.nobody.withToken(narrow.token).users.grant('mira', 'shop', grant)).toMatchObject({
    displayName: 'Mira',
    teams: ['secret'],
    projects: { other: 'admin', shop: 'developer' },
  })
})

test('a user has roles for at most 100 pipelines, and keeps those', async () => {
  await using scene = await openHttpScene()
  await openRoles(scene)
  const { store } = scene.server.app
  const { id } = await scene.admin.users.get('shop-viewer')
  const shown = await store.query.selectFrom('pipeline').selectAll().where('name', '=', 'shop/app').executeTakeFirstOrThrow()
  await store.write(async (tx) => {
    for (let n = 1; n < 100; n += 1) {
      await tx.query
        .insertInto('pipeline')
        .values({ ...shown, id: `copy-${n}`, name: `copy-${n}` })
        .execute()
      await tx.query
        .insertInto('pipeline_role')
        .values({ subject_id: id, pipeline_id: `copy-${n}`, role: 'viewer' })
        .execute()
    }
  })
  const grant = { role: 'developer' } as const
  await expect(scene.admin.users.grantPipeline('shop-viewer', 'shop/second', grant)).rejects.toMatchObject({ code: 'conflict' })
  await scene.admin.users.grantPipeline('shop-viewer', 'shop/app', grant)
  await scene.admin.users.revokePipeline('shop-viewer', 'copy-1')
  await scene.admin.users.grantPipeline('shop-viewer', 'shop/second', grant)
})

test('a key without the scope for builds sees no builds in the list of pipelines', async () => {
  await using scene = await openHttpScene()
  await openPipelines(scene, ['shop/app'])
  const clientOf = async (name: string, scopes: readonly ('pipeline:read' | 'build:read')[]) =>
    scene.nobody.withToken((await scene.admin.keys.create({ name, role: 'viewer', scopes: [...scopes] })).token)
  const narrow = await clientOf('narrow', ['pipeline:read'])
  expect((await narrow.pipelines.list()).items.map(({ name, activity }) => [name, activity])).toEqual([['shop/app', undefined]])
  for (const query of [{ activity: true }, { order: 'last-build' }] as const)
    await expect(narrow.pipelines.list({ query }), JSON.stringify(query)).rejects.toMatchObject({ code: 'scope-missing' })
  const both = await clientOf('both', ['pipeline:read', 'build:read'])
  expect((await both.pipelines.list({ query: { activity: true } })).items[0]?.activity?.builds).toHaveLength(1)
})

test('an admin of a pipeline gives and takes roles for it only, also to members of teams', async () => {
  await using scene = await openHttpScene()
  const { users, builds } = await openRoles(scene)
  const { admin, maintainer, viewer } = users
  const own = builds['shop/app']?.id ?? ''
  const grant = { role: 'developer' } as const
  await expect(maintainer.users.grantPipeline('shop-viewer', 'shop/app', grant)).rejects.toMatchObject({ code: 'forbidden' })
  await expect(admin.users.grantPipeline('shop-viewer', 'shop/second', grant)).rejects.toMatchObject({ code: 'not-found' })
  await expect(admin.users.grant('shop-viewer', 'shop', grant)).rejects.toMatchObject({ code: 'not-found' })
  expect(await admin.users.grantPipeline('shop-viewer', 'shop/app', grant)).toMatchObject({
    pipelines: { 'shop/app': 'developer' },
  })
  await viewer.builds.create({ pipeline: 'shop/app' })
  await admin.users.revokePipeline('shop-viewer', 'shop/app')
  await expect(viewer.builds.get(own)).rejects.toMatchObject({ code: 'not-found' })
  const team = await scene.admin.teams.create({ name: 'apps', pipelines: { 'shop/app': 'viewer' }, members: ['shop-viewer'] })
  expect(team).toMatchObject({ projects: {}, pipelines: { 'shop/app': 'viewer' } })
  expect(await viewer.builds.get(own)).toMatchObject({ id: own })
  await scene.admin.teams.change('apps', { pipelines: {} })
  await expect(viewer.builds.get(own)).rejects.toMatchObject({ code: 'not-found' })
  await expect(scene.admin.teams.change('apps', { pipelines: { nowhere: 'viewer' } })).rejects.toMatchObject({
    code: 'not-found',
  })
})

test('whoami names the pipelines of its roles', async () => {
  await using scene = await openHttpScene()
  const { tokens } = await openRoles(scene)
  const me = await scene.nobody.withToken(tokens.developer).server.whoami()
  expect(me.pipelines).toEqual({ 'shop/app': 'developer' })
  expect(me.projects).toBeUndefined()
})
