/** Checks every route with every kind of credential against the table of rights. */
import { fault, nodeTransport, newToken } from '@windlass/kit'
import { ApiKeyCreated, Build, PAGE_HEADER, Pipeline, SCOPES, type Client, type Method, type Scope } from '@windlass/protocol'
import { z } from 'zod'
import { expect, test } from 'vitest'
import { openAuthenticator } from '../../../src/identity/authenticate.ts'
import { allRoutes } from '../../../src/http/routes.ts'
import type { Route } from '../../../src/http/route.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { CALLERS, readRights, type Caller } from '../rights-table.ts'

interface Tokens {
  readonly of: Readonly<Record<Caller, string | undefined>>
  /** Id of a build that was started by the steps of `parent`. */
  readonly child: string
}

/** Creates a credential of each kind, all of one account. */
async function openTokens(scene: HttpScene): Promise<Tokens> {
  const pipeline = 'team/app'
  await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: { name: pipeline, document: HELLO } })
  const key = async (role: string): Promise<string> =>
    (await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: role, role } })).token
  const [ended, other, parent] = [await scene.start(), await scene.start(), await scene.start({ pipeline, document: undefined })]
  await ended.engine.succeed()
  const steps = scene.nobody.withToken(parent.engine.claimed.buildToken ?? '')
  const { id: child } = await steps.call('POST', '/v1/builds', Build, { body: { pipeline } })
  return {
    child,
    of: {
      nobody: undefined,
      viewer: await key('viewer'),
      developer: await key('developer'),
      maintainer: await key('maintainer'),
      admin: scene.adminToken,
      session: await signIn(scene),
      user: await signInAsUser(scene),
      agent: scene.agentToken,
      'gitops runtime': (await scene.admin.gitopsRuntimes.createToken('permitted')).token,
      bootstrap: other.task.engine.bootstrap,
      attempt: other.engine.claimed.token,
      'ended attempt': ended.engine.claimed.token,
      'ended bootstrap': ended.task.engine.bootstrap,
      steps: other.engine.claimed.buildToken,
      parent: parent.engine.claimed.buildToken,
    },
  }
}

/** Signs in with the key of the admin. Returns the cookie. */
async function signIn({ server, adminToken }: HttpScene): Promise<string> {
  const answer = await fetch(`${server.url}/v1/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: adminToken }),
  })
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

/** Creates a user with the role developer and signs in with the password. Returns the cookie. */
async function signInAsUser({ server, admin }: HttpScene): Promise<string> {
  const user = { name: 'dev', password: 'correct horse battery' }
  if (!(await admin.users.list()).items.some(({ name }) => name === user.name))
    await admin.users.create({ ...user, role: 'developer' })
  const answer = await fetch(`${server.url}/v1/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  })
  return answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
}

/** Returns the headers of a call with a token, or with a cookie from a page of the server. */
function headersOf(credential: string | undefined): Record<string, string> {
  if (credential === undefined) return {}
  if (!credential.startsWith('windlass=')) return { authorization: `Bearer ${credential}` }
  return { cookie: credential, 'sec-fetch-site': 'same-origin', [PAGE_HEADER]: '1' }
}

const Problem = z.object({ code: z.string() })
/** Thousands of calls use its few connections. */
const transport = nodeTransport()

/** Makes a call. Returns `let in` if the caller is authorized, whatever the result, or the code of the authorization fault. */
async function ask(scene: HttpScene, call: { method: Method; path: string; token: string | undefined }): Promise<string> {
  const answer = await transport({
    method: call.method,
    url: scene.server.url + call.path,
    headers: headersOf(call.token),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await answer.text()
  if (![401, 403, 409].includes(answer.status)) return 'let in'
  const { code } = Problem.parse(JSON.parse(text))
  return ['unauthenticated', 'forbidden', 'scope-missing', 'attempt-stale'].includes(code) ? code : 'let in'
}

/** Makes a call for each caller, one after the other if the calls affect each other. */
async function each<T>(inSequence: boolean, callers: readonly Caller[], call: (caller: Caller) => Promise<T>): Promise<T[]> {
  if (!inSequence) return Promise.all(callers.map(call))
  const results: T[] = []
  for (const caller of callers) results.push(await call(caller))
  return results
}

/** Routes that steps may call only for a build that their build has started. */
const ENDS_CHILD: ReadonlySet<string> = new Set(['POST /v1/builds/{id}/terminate', 'DELETE /api/progress/{id}'])

/** Fills in names that do not exist, so that authorized calls do no harm. Only calls that end a child build get one, which exists. */
function pathOf({ method, path }: Route, { child }: Tokens): string {
  const id = ENDS_CHILD.has(`${method} ${path}`) ? child : 'f'.repeat(24)
  return path.replaceAll(/\{id\}/g, id).replaceAll(/\{\w+\}/g, 'no-such-name')
}

function routesOf({ server: { app } }: HttpScene): Route[] {
  return allRoutes(app, openAuthenticator(app.store.query, app.vault))
}

test('the table of rights lists exactly the routes of the server', async () => {
  await using scene = await openHttpScene()
  const routes = routesOf(scene).map(({ method, path }) => `${method} ${path}`)
  expect([...readRights().keys()].toSorted()).toEqual(routes.toSorted())
})

test('every route accepts exactly the kinds of credentials in the table', async () => {
  await using scene = await openHttpScene()
  const tokens = await openTokens(scene)
  const rights = readRights()
  for (const route of routesOf(scene)) {
    const name = `${route.method} ${route.path}`
    const right = rights.get(name)
    if (right === undefined) throw fault('not-found', { message: `${name} is not in the table of rights.` })
    const path = pathOf(route, tokens)
    const refusal = (caller: Caller): string =>
      caller.startsWith('ended') ? 'attempt-stale' : caller === 'nobody' ? 'unauthenticated' : 'forbidden'
    const isOpen = route.spec.hasOwnCredential === true
    const expected = CALLERS.map((caller) => [caller, isOpen || right.callers.includes(caller) ? 'let in' : refusal(caller)])
    const found = await each(name === 'DELETE /v1/sessions', CALLERS, async (caller) => {
      // Signing out ends the session, so that call gets its own.
      const isEnd = ['DELETE /v1/sessions/current', 'DELETE /v1/sessions'].includes(name)
      const own = caller === 'session' ? signIn : caller === 'user' ? signInAsUser : undefined
      const token = isEnd && own !== undefined ? await own(scene) : tokens.of[caller]
      return [caller, await ask(scene, { method: route.method, path, token })]
    })
    // Signing out everywhere has ended the other sessions.
    if (name === 'DELETE /v1/sessions')
      Object.assign(tokens.of, { session: await signIn(scene), user: await signInAsUser(scene) })
    expect([name, ...found]).toEqual([name, ...expected])
  }
})

test('a limited key needs exactly the scope in the table', async () => {
  await using scene = await openHttpScene()
  const tokens = await openTokens(scene)
  const key = async (name: string, scopes: readonly Scope[]): Promise<string> =>
    (await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name, role: 'admin', scopes } })).token
  const only = new Map<string, string>()
  const without = new Map<string, string>()
  for (const scope of SCOPES) {
    only.set(scope, await key(`only/${scope}`, [scope]))
    const covering = [scope, scope.replace(/:read$/, ':write')]
    without.set(
      scope,
      await key(
        `without/${scope}`,
        SCOPES.filter((one) => !covering.includes(one)),
      ),
    )
  }
  const rights = readRights()
  for (const route of routesOf(scene)) {
    const name = `${route.method} ${route.path}`
    const { callers = [], scope = 'account:read' } = rights.get(name) ?? {}
    const isFree = rights.get(name)?.scope === undefined
    const call = { method: route.method, path: pathOf(route, tokens) }
    const isForAdmins = callers.includes('admin')
    expect([name, await ask(scene, { ...call, token: only.get(scope) })]).toEqual([name, isForAdmins ? 'let in' : 'forbidden'])
    expect([name, await ask(scene, { ...call, token: without.get(scope) })]).toEqual([
      name,
      !isForAdmins ? 'forbidden' : isFree ? 'let in' : 'scope-missing',
    ])
  }
})

test('every route rejects an invalid credential, also public routes, except those that check a credential of their own', async () => {
  await using scene = await openHttpScene()
  const tokens = await openTokens(scene)
  const wrong = ['x', newToken(0).text, `${scene.adminToken.slice(0, -1)}_`]
  const own = routesOf(scene).filter(({ spec }) => spec.hasOwnCredential === true)
  expect(own.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /v1/webhooks/{name}/deliveries'])
  for (const route of routesOf(scene).filter(({ spec }) => spec.perMinute === undefined)) {
    const call = { method: route.method, path: pathOf(route, tokens) }
    const expected = route.spec.hasOwnCredential === true ? 'let in' : 'unauthenticated'
    const found = await Promise.all(wrong.map((token) => ask(scene, { ...call, token })))
    expect([route.path, ...found]).toEqual([route.path, ...wrong.map(() => expected)])
  }
})

test('rejects a revoked key at once, and refuses to revoke the last admin key', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: 'ci', role: 'viewer' } })
  const ci = scene.nobody.withToken(token)
  expect(await ci.call('GET', '/v1/whoami', z.looseObject({}))).toMatchObject({ kind: 'key', name: 'ci', role: 'viewer' })
  await scene.admin.text('DELETE', '/v1/keys/ci')
  await expect(ci.text('GET', '/v1/whoami')).rejects.toMatchObject({ code: 'unauthenticated' })
  await expect(scene.admin.text('DELETE', '/v1/keys/admin')).rejects.toMatchObject({ code: 'conflict' })
})

test('a key that may only start builds cannot run other commands with the secrets of a pipeline', async () => {
  await using scene = await openHttpScene()
  await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: { name: 'team/app', document: HELLO } })
  const limited = async (...scopes: Scope[]): Promise<(body: object) => Promise<Build>> => {
    const body = { name: scopes.join('-').replaceAll(':', '-'), role: 'developer', scopes }
    const client = scene.nobody.withToken((await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body })).token)
    return (input) => client.call('POST', '/v1/builds', Build, { body: { pipeline: 'team/app', ...input } })
  }
  const start = await limited('build:write')
  const { id } = await start({ branch: 'main', variables: { A: '1' } })
  for (const more of [{ document: HELLO }, { contexts: ['prod'] }, { debug: {} }, { restartOf: id, debug: {} }])
    await expect(start(more), JSON.stringify(more)).rejects.toMatchObject({
      code: 'scope-missing',
      message: expect.stringContaining('pipeline:write'),
    })
  const both = await limited('build:write', 'pipeline:write')
  expect(await both({ document: HELLO })).toMatchObject({ status: 'pending' })
})

test('only unlimited admins can create keys that give access to all secrets of builds, and only for admins', async () => {
  await using scene = await openHttpScene()
  const make = (by: Client, body: object): Promise<z.output<typeof ApiKeyCreated>> =>
    by.call('POST', '/v1/keys', ApiKeyCreated, { body })
  const scopes = ['key:write', 'agent:write', 'runtime:write', 'build:read'] as const
  const { token } = await make(scene.admin, { name: 'maker', role: 'admin', scopes })
  const maker = scene.nobody.withToken(token)
  for (const scope of ['agent:write', 'runtime:write']) {
    const more = { name: 'made', role: 'admin', scopes: [scope] }
    await expect(make(maker, more), scope).rejects.toMatchObject({
      code: 'scope-missing',
      message: expect.stringContaining(scope),
    })
    const codefresh = maker.text('POST', '/api/auth/key', { body: { name: 'made', scopes: [scope] } })
    await expect(codefresh, scope).rejects.toMatchObject({ code: 'scope-missing' })
    await expect(make(scene.admin, { ...more, role: 'developer' }), scope).rejects.toMatchObject({
      code: 'request-invalid',
      message: expect.stringContaining('admin'),
    })
  }
  expect(await make(maker, { name: 'reader', role: 'viewer', scopes: ['build:read'] })).toMatchObject({ scopes: ['build:read'] })
  const user = scene.nobody.withToken((await make(scene.admin, { name: 'user', role: 'developer' })).token)
  await expect(user.text('POST', '/v1/agents', { body: { name: 'mine' } })).rejects.toMatchObject({ code: 'forbidden' })
})

test('the steps of a build can start child builds and terminate only those, until the build has ended (P171)', async () => {
  await using scene = await openHttpScene()
  await scene.admin.call('POST', '/v1/pipelines', Pipeline, { body: { name: 'team/app', document: HELLO } })
  const { build, engine } = await scene.start({ pipeline: 'team/app', document: undefined })
  const steps = scene.nobody.withToken(engine.claimed.buildToken ?? '')
  const child = await steps.call('POST', '/v1/builds', Build, { body: { pipeline: 'team/app' } })
  expect(child).toMatchObject({ initiator: `build ${build.number}`, trigger: { kind: 'build' } })
  const shown = await scene.admin.call('GET', `/v1/builds/${child.id}`, Build)
  expect(shown.annotations).toEqual({ cf_predecessor: build.id })
  await expect(steps.text('POST', `/v1/builds/${build.id}/terminate`, { body: {} })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(steps.text('POST', '/v1/keys', { body: { name: 'mine' } })).rejects.toMatchObject({ code: 'forbidden' })
  await steps.text('POST', `/v1/builds/${child.id}/terminate`, { body: {} })
  await engine.succeed()
  await expect(steps.text('GET', '/v1/builds')).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('creates the first admin only once, and limits the rate of attempts', async () => {
  await using scene = await openHttpScene()
  await expect(scene.nobody.text('POST', '/v1/bootstrap', { body: {} })).rejects.toMatchObject({ code: 'bootstrap-closed' })
  const calls = await Promise.all(
    Array.from({ length: 25 }, () => scene.nobody.text('POST', '/v1/bootstrap', { body: {} }).catch((error: unknown) => error)),
  )
  expect(calls.at(-1)).toMatchObject({ code: 'rate-limited' })
})
