/** Users with a role only in one project: every route with every role, inside and outside of the project. */
import type { ApiClient } from '@windlass/client'
import { RIGHTS, roleHasRight, ROLES, type Build, type Role } from '@windlass/protocol'
import { fault, nodeTransport } from '@windlass/kit'
import { z } from 'zod'
import { expect, test } from 'vitest'
import type { Route } from '../../src/http/route.ts'
import { allRoutes } from '../../src/http/routes.ts'
import { isRight } from '../../src/identity/actor.ts'
import { openAuthenticator } from '../../src/identity/authenticate.ts'
import { HELLO, openHttpScene, type HttpScene } from '../support/http-scene.ts'

/**
 * How each route finds the project of a call. The table deliberately duplicates the routes, so that each new one is reviewed. Roles in projects do not count for the
 * routes that are not listed.
 */
const PROJECT_ROUTES: Readonly<Record<string, string>> = {
  'GET /v1/pipelines': 'handler',
  'POST /v1/pipelines': 'handler',
  'GET /v1/pipelines/{name}': 'pipeline',
  'PUT /v1/pipelines/{name}': 'pipeline',
  'DELETE /v1/pipelines/{name}': 'pipeline',
  'POST /v1/validate': 'handler',
  'GET /v1/projects': 'handler',
  'GET /v1/projects/{name}': 'project',
  'PUT /v1/projects/{name}': 'project',
  'DELETE /v1/projects/{name}': 'project',
  'GET /v1/step-types': 'handler',
  'GET /v1/step-types/{name}': 'handler',
  'GET /v1/step-types/{name}/versions': 'handler',
  'GET /v1/triggers': 'handler',
  'POST /v1/triggers': 'handler',
  'POST /v1/triggers/test': 'handler',
  'GET /v1/triggers/{name}': 'trigger',
  'PUT /v1/triggers/{name}': 'trigger',
  'DELETE /v1/triggers/{name}': 'trigger',
  'GET /v1/cron-triggers': 'handler',
  'POST /v1/cron-triggers': 'handler',
  'GET /v1/cron-triggers/{name}': 'cron-trigger',
  'PUT /v1/cron-triggers/{name}': 'cron-trigger',
  'DELETE /v1/cron-triggers/{name}': 'cron-trigger',
  'GET /v1/event-triggers': 'handler',
  'POST /v1/event-triggers': 'handler',
  'GET /v1/event-triggers/{name}': 'event-trigger',
  'PUT /v1/event-triggers/{name}': 'event-trigger',
  'DELETE /v1/event-triggers/{name}': 'event-trigger',
  'GET /v1/deliveries': 'handler',
  'GET /v1/deliveries/{id}': 'handler',
  'POST /v1/deliveries/{id}/replay': 'handler',
  'POST /v1/builds': 'handler',
  'POST /v1/builds/{id}/restart': 'build',
  'POST /v1/builds/{id}/terminate': 'build',
  'POST /v1/builds/{id}/approve': 'build',
  'POST /v1/builds/{id}/deny': 'build',
  'POST /v1/builds/{id}/links': 'build',
  'POST /v1/pipelines/{name}/badge-links': 'pipeline',
  'GET /v1/links': 'handler',
  'DELETE /v1/links/{id}': 'handler',
  'GET /v1/builds': 'handler',
  'GET /v1/builds/counts': 'handler',
  'POST /v1/builds/actions': 'handler',
  'GET /v1/queue': 'handler',
  'GET /v1/approvals': 'handler',
  'GET /v1/search': 'handler',
  'POST /v1/plan': 'handler',
  'GET /v1/builds/{id}/plan': 'build',
  'GET /v1/builds/{id}/related': 'build',
  'GET /v1/builds/{id}': 'build',
  'GET /v1/builds/{id}/wait': 'build',
  'GET /v1/builds/{id}/feed': 'build',
  'GET /v1/stream': 'handler',
  'GET /v1/builds/{id}/follow': 'build',
  'GET /v1/builds/{id}/log': 'build',
  'GET /v1/builds/{id}/streams': 'build',
  'GET /v1/builds/{id}/log/lines': 'build',
  'GET /v1/builds/{id}/log/search': 'build',
  'GET /v1/builds/{id}/debug': 'build',
  'POST /v1/builds/{id}/debug': 'build',
  'POST /v1/builds/{id}/debug/{step}/{action}': 'build',
  'POST /v1/builds/{id}/terminals': 'build',
  'GET /v1/builds/{id}/terminals/{terminal}/output': 'build',
  'POST /v1/builds/{id}/terminals/{terminal}/input': 'build',
  'GET /v1/annotations/{entity}/{id}': 'annotated',
  'PUT /v1/annotations/{entity}/{id}': 'annotated',
  'DELETE /v1/annotations/{entity}/{id}/{name}': 'annotated',
  'GET /v1/images': 'handler',
  'GET /v1/notifications': 'handler',
  'POST /v1/notifications': 'handler',
  'GET /v1/notifications/{name}': 'handler',
  'PATCH /v1/notifications/{name}': 'handler',
  'DELETE /v1/notifications/{name}': 'handler',
  'POST /v1/notifications/{name}/test': 'handler',
  'GET /v1/images/{id}': 'image',
  'PUT /v1/users/{name}/projects/{project}': 'project',
  'DELETE /v1/users/{name}/projects/{project}': 'project',
}

function routesOf({ server: { app } }: HttpScene): Route[] {
  return allRoutes(app, openAuthenticator(app.store.query, app.vault))
}

interface Projects {
  /** A user with each role in the project `shop`, and no other role. */
  readonly users: Readonly<Record<Role, ApiClient>>
  readonly tokens: Readonly<Record<Role, string>>
  /** A build of each project. */
  readonly builds: Readonly<Record<'shop' | 'other', Build>>
}

/** Creates the pipelines `shop/app` and `other/app` with triggers and a build each, and the users. */
async function openProjects(scene: HttpScene): Promise<Projects> {
  const { admin } = scene
  await putPipelines(admin)
  const start = (project: string): Promise<Build> => scene.submit({ pipeline: `${project}/app`, document: undefined })
  const builds = { shop: await start('shop'), other: await start('other') }
  const tokens = Object.fromEntries(
    await Promise.all(
      ROLES.map(async (role) => {
        await admin.users.create({ name: nameOf(role), kind: 'service-account', role: 'none', projects: { shop: role } })
        return [role, (await admin.keys.create({ name: `${role}-key`, role: 'admin', owner: nameOf(role) })).token] as const
      }),
    ),
  ) as Record<Role, string>
  const users = Object.fromEntries(ROLES.map((role) => [role, scene.nobody.withToken(tokens[role])])) as Record<Role, ApiClient>
  return { users, tokens, builds }
}

/** The first admin of the installation is called `admin`. */
function nameOf(role: Role): string {
  return `shop-${role}`
}

async function putPipelines(admin: ApiClient): Promise<void> {
  for (const name of ['shop/app', 'other/app']) {
    await admin.pipelines.put(name, { name, document: HELLO })
    const of = { pipeline: name, name: 'own' }
    const { items: git } = await admin.triggers.list({ query: { pipeline: name } })
    if (git.length === 0) await admin.triggers.create({ ...of, repo: 'acme/app', events: ['push'] })
    const { items: cron } = await admin.cronTriggers.list({ query: { pipeline: name } })
    if (cron.length === 0) await admin.cronTriggers.create({ ...of, message: 'yearly', expression: '@yearly' })
    const { items: events } = await admin.eventTriggers.list({ query: { pipeline: name } })
    if (events.length === 0) await admin.eventTriggers.create({ ...of, type: 'registry', image: 'acme/base' })
  }
}

const Problem = z.object({ code: z.string(), detail: z.string() })
const HIDDEN = fault('not-found').message

/** Returns `hidden`, `forbidden`, or `let in`, whatever the result of the call. */
async function ask(scene: HttpScene, { method, path }: Pick<Route, 'method' | 'path'>, token: string): Promise<string> {
  const gone = new AbortController()
  const answer = await nodeTransport()({
    method,
    url: scene.server.url + path,
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.any([gone.signal, AbortSignal.timeout(60_000)]),
  })
  if (answer.status < 400) {
    // A follower of a running build does not end by itself.
    gone.abort()
    return 'let in'
  }
  const { code, detail } = Problem.parse(JSON.parse(await answer.text()))
  if (code === 'not-found' && detail === HIDDEN) return 'hidden'
  return code === 'forbidden' ? code : 'let in'
}

/** Fills in the names of a project. Other names do not exist. */
function pathIn({ path, spec }: Route, project: 'shop' | 'other', { builds }: Projects): string {
  const id = builds[project].id
  const names: Readonly<Record<string, string>> = {
    project,
    pipeline: `${project}%2Fapp`,
    trigger: `${project}%2Fapp%23own`,
    'cron-trigger': `${project}%2Fapp%23own`,
    'event-trigger': `${project}%2Fapp%23own`,
  }
  const name = names[spec.project ?? '']
  return path
    .replace('{entity}/{id}', `build/${id}`)
    .replace('{id}', spec.project === 'image' ? 'no-such-image' : id)
    .replace('{project}', project)
    .replace('{name}', path.startsWith('/v1/users') ? 'no-such-user' : (name ?? 'no-such-name'))
    .replaceAll(/\{\w+\}/g, 'f'.repeat(24))
}

const TRIGGERS: readonly Route['spec']['project'][] = ['trigger', 'cron-trigger', 'event-trigger']

test('roles in projects count for exactly the routes of the table', async () => {
  await using scene = await openHttpScene()
  const found = routesOf(scene).filter(({ spec }) => spec.project !== undefined)
  expect(Object.fromEntries(found.map(({ method, path, spec }) => [`${method} ${path}`, spec.project]))).toEqual(PROJECT_ROUTES)
  for (const { spec } of found) expect(isRight(spec.allow)).toBe(true)
})

test('each role may call in its project what the table of rights says, and sees nothing of another project', async () => {
  await using scene = await openHttpScene()
  const projects = await openProjects(scene)
  const routes = routesOf(scene).filter(({ spec }) => isRight(spec.allow))
  const count = { own: 0, other: 0, none: 0 }
  for (const route of routes) {
    const { allow, project } = route.spec
    if (!isRight(allow)) continue
    for (const role of ROLES) {
      // A call of an earlier role may have deleted them.
      if (route.method === 'DELETE' || TRIGGERS.includes(project)) await putPipelines(scene.admin)
      const inside = await ask(scene, { ...route, path: pathIn(route, 'shop', projects) }, projects.tokens[role])
      const name = `${role}: ${route.method} ${route.path}`
      const isHeld = roleHasRight(role, allow) && RIGHTS[allow].at === 'project'
      if (project === undefined) {
        expect([name, inside]).toEqual([name, 'forbidden'])
        count.none += 1
      } else if (project === 'handler') {
        expect([name, inside === 'forbidden']).toEqual([name, !isHeld])
      } else {
        const outside = await ask(scene, { ...route, path: pathIn(route, 'other', projects) }, projects.tokens[role])
        const expected = isHeld ? (project === 'image' ? 'hidden' : 'let in') : project === 'image' ? 'hidden' : 'forbidden'
        expect([name, inside, outside]).toEqual([name, expected, 'hidden'])
        count.own += 1
        count.other += 1
      }
    }
  }
  expect(count.own).toBeGreaterThan(80)
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
  await putPipelines(admin)
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
  expect(await admin.users.grant('shop-viewer', 'shop', { role: 'developer' })).toMatchObject({
    role: 'none',
    projects: { shop: 'developer' },
  })
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
  await putPipelines(scene.admin)
  expect(await scene.admin.users.get('admin')).toMatchObject({ role: 'admin' })
  expect(await scene.admin.users.get('shop-developer')).toMatchObject({ projects: {} })
})
