/** Calls at an app-proxy in the audit log of its server, whatever becomes of either side. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditRecord } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../server/test/support/http-scene.ts'
import type { AppProxyOptions } from '../src/index.ts'
import { GIT_TOKEN, REPO, startGitForge } from './support/git-forge.ts'
import { openScene } from './support/scene.ts'

type Transport = AppProxyOptions['server']['transport']

test('each change has one record with its caller and its commit, also after a crash and an outage (O025, O028)', async () => {
  await using forge = await startGitForge({ 'a.yaml': 'a: 0\n' })
  await using server = await openHttpScene()
  const { token: runtimeToken } = await server.admin.gitopsRuntimes.createToken('prod')
  const control = { url: server.server.url, accountId: server.server.app.accountId, runtimeToken }
  await using scene = await openScene(control)
  await server.admin.users.create({ name: 'dan', role: 'developer', password: 'correct horse battery' })
  await server.admin.users.create({ name: 'vera', role: 'viewer', password: 'correct horse battery' })
  const keyOf = async (owner: string): Promise<string> =>
    (await server.admin.keys.create({ name: `${owner}-key`, role: 'admin', owner })).token
  const [dan, vera] = [await keyOf('dan'), await keyOf('vera')]
  const path = '/git-integrations/default'
  const integration = { token: server.adminToken, body: { provider: 'gitea', url: forge.url } }
  expect((await scene.call('PUT', path, integration)).status).toBe(200)
  expect((await scene.call('PUT', `${path}/token`, { token: dan, body: { token: GIT_TOKEN } })).status).toBe(200)
  const commit = (content: string, token = dan, more: object = {}): ReturnType<typeof scene.call> =>
    scene.call('POST', `${path}/commits`, {
      token,
      headers: { 'user-agent': 'windlass/1.2.3', 'x-request-id': 'request-of-dan' },
      body: { repo: REPO, branch: 'main', message: 'Change it', files: [{ path: 'a.yaml', content }], ...more },
    })
  /** Records of commits, oldest first. */
  const records = async (): Promise<AuditRecord[]> => {
    const { items } = await server.admin.audit.list({ query: { order: 'oldest', limit: 100, q: '/commits' } })
    return items
  }

  const { body: first } = await commit('a: 1\n')
  await expect.poll(records).toHaveLength(1)
  const [record] = await records()
  expect(record).toMatchObject({
    kind: 'key',
    actor: 'dan-key',
    owner: 'dan',
    action: 'POST /app-proxy/api/git-integrations/{name}/commits',
    target: 'prod/app-proxy/api/git-integrations/default/commits',
    result: 'done',
    client: 'windlass/1.2.3',
    requestId: 'request-of-dan',
  })
  expect(record?.detail).toBe(`commit ${first.revision} on main of ${forge.url}/${REPO}.git`)
  // A call that is refused has a record, and one whose input is wrong has none.
  expect((await commit('a: 2\n', vera)).status).toBe(403)
  expect((await commit('a: 2\n', dan, { files: [] })).status).toBe(400)
  expect((await commit('a: 2\n', dan, { branch: 'absent' })).status).toBe(404)
  await expect
    .poll(async () => (await records()).slice(1))
    .toMatchObject([
      { actor: 'vera-key', result: 'denied', code: 'forbidden' },
      { actor: 'dan-key', result: 'failed', code: 'not-found' },
    ])

  // The answers of the server are lost: to the announcement, so the call does not begin, and to the end, which is repeated.
  let lost: 'begin' | 'end' | undefined = 'begin'
  const flaky: Transport = async (request) => {
    const answer = await scene.server.transport(request)
    if (lost !== undefined && request.url.endsWith(lost === 'begin' ? '/calls' : '/end'))
      throw new Error('the connection was reset')
    return answer
  }
  await scene.restart({ server: { ...scene.server, transport: flaky } })
  const tip = await forge.git('rev-parse', 'main')
  expect(await commit('a: 3\n')).toMatchObject({ status: 503, body: { code: 'control-plane-unreachable' } })
  expect(await forge.git('rev-parse', 'main')).toBe(tip)
  await expect.poll(scene.waitingEnds).toEqual([])
  lost = 'end'
  const { body: second } = await commit('a: 4\n')
  await expect.poll(async () => (await records()).length).toBe(4)
  // The process ends before it knows that its report has arrived, and the next one repeats it.
  expect(scene.waitingEnds()).toHaveLength(1)
  // A caller leaves while the forge answers its push, which has its effect.
  const left = new AbortController()
  forge.after = async ({ path: called }) => {
    if (!called.endsWith('/git-receive-pack')) return
    left.abort()
    await expect.poll(scene.waitingEnds).toHaveLength(2)
  }
  const body = JSON.stringify({ repo: REPO, branch: 'main', message: 'x', files: [{ path: 'a.yaml', content: 'a: 5\n' }] })
  const headers = { authorization: dan, 'content-type': 'application/json' }
  const leaving = { method: 'POST', headers, body, signal: left.signal }
  await expect(fetch(`${scene.proxy.url}/app-proxy/api${path}/commits`, leaving)).rejects.toThrow()
  await expect.poll(scene.waitingEnds).toHaveLength(2)
  const folder = join(scene.workFolder, 'windlass-call-ends-prod')
  const ends = scene.waitingEnds().map((name): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  expect(ends).toContainEqual({ result: 'failed', code: 'unavailable', hasEffect: true })
  lost = undefined
  await scene.restart()
  await expect.poll(scene.waitingEnds).toEqual([])
  expect((await records()).slice(3)).toMatchObject([
    { result: 'done', detail: expect.stringContaining(second.revision) },
    { result: 'failed', code: 'unavailable' },
  ])
})
