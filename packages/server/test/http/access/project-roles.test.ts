/** Users with a role only in one project: every route with every role, inside and outside of the project. */
import { RIGHTS, roleHasRight, ROLES, type Build } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { isRight } from '../../../src/identity/actor.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import {
  addAccounts,
  ask,
  HIDDEN,
  needsTriggers,
  openPipelines,
  pathAt,
  putPipelines,
  routesOf,
  routesWithRights,
  type Accounts,
  type PipelineName,
} from '../../support/role-scene.ts'
import { PROJECT_ROUTES } from '../project-routes.ts'

const NAMES = ['shop/app', 'other/app'] as const satisfies readonly PipelineName[]

interface Projects extends Accounts {
  /** A build of each project. */
  readonly builds: Readonly<Record<'shop' | 'other', Build>>
}

/** Creates a pipeline with triggers and a build in each project, and a user with each role in the project `shop`. */
async function openProjects(scene: HttpScene): Promise<Projects> {
  const found = await openPipelines(scene, NAMES)
  const [shop, other] = [found['shop/app'], found['other/app']]
  if (shop === undefined || other === undefined) throw new Error('the builds are missing')
  return { builds: { shop, other }, ...(await addAccounts(scene, (role) => ({ projects: { shop: role } }))) }
}

test('roles in projects count for exactly the routes of the table', async () => {
  await using scene = await openHttpScene()
  const found = routesOf(scene.server.app).filter(({ spec }) => spec.project !== undefined)
  expect(Object.fromEntries(found.map(({ method, path, spec }) => [`${method} ${path}`, spec.project]))).toEqual(PROJECT_ROUTES)
  for (const { spec } of found) expect(isRight(spec.allow)).toBe(true)
})

test('each role may call in its project what the table of rights says, and sees nothing of another project', async () => {
  await using scene = await openHttpScene()
  const { tokens, builds } = await openProjects(scene)
  const byName = { 'shop/app': builds.shop, 'other/app': builds.other }
  const count = { placed: 0, none: 0 }
  for (const { route, right } of routesWithRights(scene)) {
    const { project } = route.spec
    for (const role of ROLES) {
      // A call of an earlier role may have deleted them.
      if (needsTriggers(route)) await putPipelines(scene.admin, NAMES)
      const inside = await ask(scene, { ...route, path: pathAt(route, 'shop/app', byName) }, tokens[role])
      const name = `${role}: ${route.method} ${route.path}`
      const isHeld = roleHasRight(role, right) && RIGHTS[right].at !== 'installation'
      if (project === undefined) {
        expect([name, inside]).toEqual([name, 'forbidden'])
        count.none += 1
      } else if (project === 'handler') {
        expect([name, inside === 'forbidden']).toEqual([name, !isHeld])
      } else {
        const outside = await ask(scene, { ...route, path: pathAt(route, 'other/app', byName) }, tokens[role])
        const expected = project === 'image' ? 'hidden' : isHeld ? 'let in' : 'forbidden'
        expect([name, inside, outside]).toEqual([name, expected, 'hidden'])
        count.placed += 1
      }
    }
  }
  expect(count.placed).toBeGreaterThan(130)
  expect(count.none).toBeGreaterThan(150)
})

test('lists have only what belongs to the project', async () => {
  await using scene = await openHttpScene()
  const { users, builds } = await openProjects(scene)
  await scene.submit()
  const { viewer } = users
  expect((await viewer.builds.list()).items.map(({ id }) => id)).toEqual([builds.shop.id])
  expect((await viewer.builds.list({ query: { status: 'pending,elected,running' } })).items.map(({ id }) => id)).toEqual([
    builds.shop.id,
  ])
  expect((await viewer.builds.list({ query: { pipeline: 'other/app' } })).items).toEqual([])
  expect((await viewer.pipelines.list()).items.map(({ name }) => name)).toEqual(['shop/app'])
  expect((await viewer.projects.list()).items.map(({ name }) => name)).toEqual(['shop'])
  expect((await viewer.images.list()).items).toEqual([])
  expect((await scene.admin.builds.list()).items).toHaveLength(3)
})

test('pages of builds of several projects are in order', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await putPipelines(admin, NAMES)
  for (const project of ['shop', 'other', 'shop', 'other', 'shop'])
    await scene.submit({ pipeline: `${project}/app`, document: undefined })
  await scene.submit()
  await admin.users.create({
    name: 'both',
    kind: 'service-account',
    role: 'none',
    projects: { shop: 'viewer', other: 'developer' },
  })
  const both = scene.nobody.withToken((await admin.keys.create({ name: 'b', owner: 'both', role: 'admin' })).token)
  const first = await both.builds.list({ query: { limit: 3 } })
  const second = await both.builds.list({ query: { limit: 3, cursor: first.next } })
  expect([first, second].map(({ items }) => items.map(({ number }) => number))).toEqual([
    [5, 4, 3],
    [2, 1],
  ])
})

test('a developer starts and repeats builds of the project only, and names no other project in a document', async () => {
  await using scene = await openHttpScene()
  const { users, builds } = await openProjects(scene)
  const { developer, viewer } = users
  expect(await developer.builds.create({ pipeline: 'shop/app' })).toMatchObject({ project: 'shop', initiator: 'shop-developer' })
  await expect(viewer.builds.create({ pipeline: 'shop/app' })).rejects.toMatchObject({ code: 'forbidden' })
  const hidden = { code: 'not-found', message: HIDDEN }
  const refused = [
    { pipeline: 'other/app' },
    { pipeline: 'nowhere/app' },
    { document: HELLO },
    { restartOf: builds.other.id },
    { pipeline: 'shop/app', restartOf: builds.other.id },
  ]
  for (const body of refused) await expect(developer.builds.create(body), JSON.stringify(body)).rejects.toMatchObject(hidden)
  await developer.pipelines.create({ name: 'shop/second', document: HELLO })
  for (const name of ['other/mine', 'other/app', 'fresh/mine', 'mine'])
    await expect(developer.pipelines.create({ name, document: HELLO }), name).rejects.toMatchObject(hidden)
  // The name in the document wins over the one in the path.
  const document = `version: '1.0'\nkind: pipeline\nmetadata: {name: other/moved}\nspec:\n  steps: {a: {image: alpine, commands: [ls]}}\n`
  await expect(developer.pipelines.put('shop/second', { name: 'shop/second', document })).rejects.toMatchObject(hidden)
  for (const name of ['other', 'new'])
    await expect(users.admin.projects.put('shop', { name })).rejects.toMatchObject({ code: 'forbidden' })
  expect((await scene.admin.projects.list()).items.map(({ name }) => name)).toEqual(['other', 'shop'])
  expect((await scene.admin.pipelines.list()).items.map(({ name }) => name)).toEqual(['other/app', 'shop/app', 'shop/second'])
})

test('a project admin gives and takes roles in the project only, at the next call', async () => {
  await using scene = await openHttpScene()
  const { users, builds } = await openProjects(scene)
  const { admin, maintainer, viewer } = users
  await expect(maintainer.users.grant('shop-viewer', 'shop', { role: 'viewer' })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(admin.users.grant('shop-viewer', 'other', { role: 'viewer' })).rejects.toMatchObject({ code: 'not-found' })
  await expect(admin.users.list()).rejects.toMatchObject({ code: 'forbidden' })
  const granted = await admin.users.grant('shop-viewer', 'shop', { role: 'developer' })
  expect(granted).toMatchObject({ name: 'shop-viewer', projects: { shop: 'developer' } })
  expect(granted).not.toHaveProperty('role')
  await viewer.builds.create({ pipeline: 'shop/app' })
  await admin.users.revoke('shop-viewer', 'shop')
  await expect(viewer.builds.get(builds.shop.id)).rejects.toMatchObject({ code: 'not-found' })
  expect(await scene.admin.users.get('shop-viewer')).toMatchObject({ projects: {} })
})

test('the roles of a deleted project end with it', async () => {
  await using scene = await openHttpScene()
  await openProjects(scene)
  await scene.admin.pipelines.delete('shop/app')
  await scene.admin.projects.delete('shop')
  await putPipelines(scene.admin, NAMES)
  expect(await scene.admin.users.get('admin')).toMatchObject({ role: 'admin' })
  expect(await scene.admin.users.get('shop-developer')).toMatchObject({ projects: {} })
})
