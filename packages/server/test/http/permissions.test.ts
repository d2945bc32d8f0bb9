import { setTimeout as sleep } from 'node:timers/promises'
import { nodeTransport, newToken } from '@windlass/kit'
import { ApiKeyCreated, Build, type Method } from '@windlass/protocol'
import { z } from 'zod'
import { expect, test } from 'vitest'
import { openAuthenticator } from '../../src/identity/authenticate.ts'
import type { Permission } from '../../src/identity/actor.ts'
import { allRoutes } from '../../src/http/routes.ts'
import { HELLO, openHttpScene } from '../support/http-scene.ts'

/** Written out once more on purpose: this is what the table must say. */
const ALLOWED: Readonly<Record<Permission, readonly string[]>> = {
  public: ['nobody', 'viewer', 'user', 'admin', 'agent', 'bootstrap', 'attempt', 'build'],
  viewer: ['viewer', 'user', 'admin', 'build'],
  run: ['user', 'admin', 'build'],
  user: ['user', 'admin'],
  runner: ['admin', 'agent'],
  admin: ['admin'],
  agent: ['agent'],
  bootstrap: ['bootstrap'],
  attempt: ['attempt'],
}

const CHANGING: readonly Permission[] = ['public', 'run', 'runner', 'user', 'admin', 'agent', 'bootstrap', 'attempt']

test('every route denies every credential that its permission does not name', async () => {
  await using scene = await openHttpScene()
  const { engine, task } = await scene.start()
  const key = async (role: string): Promise<string> =>
    (await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: role, role } })).token
  const tokens: Record<string, string | undefined> = {
    nobody: undefined,
    viewer: await key('viewer'),
    user: await key('user'),
    admin: scene.adminToken,
    agent: scene.agentToken,
    bootstrap: task.engine.bootstrap,
    attempt: engine.claimed.token,
    build: engine.claimed.buildToken,
  }
  const transport = nodeTransport()
  const call = async (method: Method, path: string, token: string | undefined): Promise<number> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const answer = await transport({ method, url: scene.server.url + path, headers, signal: AbortSignal.timeout(5000) })
    if (!path.endsWith('/follow')) await answer.text()
    return answer.status
  }
  const routes = allRoutes(scene.server.app, openAuthenticator(scene.server.app.store.query, scene.server.app.vault))
  expect(routes.length).toBeGreaterThan(45)
  for (const route of routes) {
    // A name that does not exist, so that what is allowed does no harm.
    const path = route.path.replaceAll(/\{id\}/g, 'f'.repeat(24)).replaceAll(/\{\w+\}/g, 'no-such-name')
    for (const [kind, token] of Object.entries(tokens)) {
      const status = await call(route.method, path, token)
      const expected = ALLOWED[route.spec.allow].includes(kind) ? 'let in' : kind === 'nobody' ? 401 : 403
      expect([route.method, route.path, kind, status === 401 || status === 403 ? status : 'let in']).toEqual([
        route.method,
        route.path,
        kind,
        expected,
      ])
    }
    for (const wrong of ['Bearer x', `Bearer ${newToken(0).text}`, `Bearer ${scene.adminToken.slice(0, -1)}_`, 'Basic YTpi']) {
      const answer = await transport({
        method: route.method,
        url: scene.server.url + path,
        headers: { authorization: wrong },
        signal: AbortSignal.timeout(5000),
      })
      expect([route.path, answer.status]).toEqual([route.path, 401])
      await answer.text()
    }
    if (route.method !== 'GET' && route.path !== '/v1/validate') expect(CHANGING).toContain(route.spec.allow)
  }
})

test('a revoked key is refused at once, and the last admin key cannot be revoked', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: 'ci', role: 'viewer' } })
  const ci = scene.nobody.withToken(token)
  expect(await ci.call('GET', '/v1/whoami', z.looseObject({}))).toMatchObject({ kind: 'key', name: 'ci', role: 'viewer' })
  await scene.admin.text('DELETE', '/v1/keys/ci')
  await expect(ci.text('GET', '/v1/whoami')).rejects.toMatchObject({ code: 'unauthenticated' })
  await expect(scene.admin.text('DELETE', '/v1/keys/admin')).rejects.toMatchObject({ code: 'conflict' })
})

test('the first admin is made once, and guessing is slowed down', async () => {
  await using scene = await openHttpScene()
  await expect(scene.nobody.text('POST', '/v1/bootstrap', { body: {} })).rejects.toMatchObject({ code: 'bootstrap-closed' })
  const calls = await Promise.all(
    Array.from({ length: 25 }, () => scene.nobody.text('POST', '/v1/bootstrap', { body: {} }).catch((error: unknown) => error)),
  )
  expect(calls.at(-1)).toMatchObject({ code: 'rate-limited' })
})

test('P171: the steps of a build may start children and end those alone, until the build has ended', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const steps = scene.nobody.withToken(engine.claimed.buildToken ?? '')
  const child = await steps.call('POST', '/v1/builds', Build, {
    body: { document: HELLO, annotations: { cf_predecessor: 'f'.repeat(24), other: 'x' } },
  })
  expect(child).toMatchObject({ initiator: `build ${build.number}`, trigger: 'build' })
  const shown = await scene.admin.call('GET', `/v1/builds/${child.id}`, Build)
  expect(shown.annotations).toMatchObject({ cf_predecessor: build.id, other: 'x' })
  await expect(steps.text('POST', `/v1/builds/${build.id}/terminate`, { body: {} })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(steps.text('POST', '/v1/keys', { body: { name: 'mine' } })).rejects.toMatchObject({ code: 'forbidden' })
  await steps.text('POST', `/v1/builds/${child.id}/terminate`, { body: {} })
  await engine.succeed()
  await sleep(3100)
  await expect(steps.text('GET', '/v1/builds')).rejects.toMatchObject({ code: 'unauthenticated' })
})
