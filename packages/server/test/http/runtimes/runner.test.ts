import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Agent,
  AgentCreated,
  ApiKeyCreated,
  Cluster,
  Installation,
  page,
  Runtime,
  SCOPES,
  SignedCertificate,
} from '@windlass/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { helloAgent } from '../../support/fakes/fake-agent.ts'
import { allRoutes } from '../../../src/http/routes.ts'
import { isForUsers } from '../../../src/identity/actor.ts'
import { openAuthenticator } from '../../../src/identity/authenticate.ts'

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Makes a call as public clients do, with the plain token and JSON bodies. */
async function api(
  scene: HttpScene,
  method: string,
  path: string,
  { body, token = scene.adminToken }: { body?: object; token?: string } = {},
): Promise<Answer> {
  const headers = { authorization: token, 'content-type': 'application/json' }
  const answer = await fetch(scene.server.url + path, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
}

async function request(): Promise<{ dir: string; csr: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'signing-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const files = ['-keyout', join(dir, 'server-key.pem'), '-out', join(dir, 'server-cert.csr')]
  execFileSync('openssl', ['req', '-new', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=docker.codefresh.io', ...files], {
    stdio: 'ignore',
  })
  return { dir, csr: await readFile(join(dir, 'server-cert.csr'), 'utf8') }
}

test('reports the missing scope of a limited key, and prevents it from creating keys with more rights (R007)', async () => {
  await using scene = await openHttpScene()
  const key = async (name: string, scopes: string[]): Promise<string> =>
    (await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name, role: 'admin', scopes } })).token
  const reader = scene.nobody.withToken(await key('reader', ['agent:read']))
  expect(await reader.call('GET', '/v1/whoami', z.looseObject({}))).toMatchObject({ name: 'reader', scopes: ['agent:read'] })
  await reader.call('GET', '/v1/agents', z.unknown())
  await expect(reader.call('POST', '/v1/agents', z.unknown(), { body: { name: 'x' } })).rejects.toMatchObject({
    code: 'scope-missing',
    status: 403,
    message: 'The key "reader" does not have the scope agent:write. It has agent:read.',
  })
  await expect(reader.call('GET', '/v1/runtimes', z.unknown())).rejects.toMatchObject({ code: 'scope-missing' })
  const maker = scene.nobody.withToken(await key('maker', ['key:write', 'build:write']))
  const make = (scopes?: string[]): Promise<unknown> =>
    maker.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: `made-${scopes?.length ?? 0}`, role: 'admin', scopes } })
  await make(['build:write'])
  await expect(make()).rejects.toMatchObject({ code: 'scope-missing' })
  await expect(make(['build:write', 'pipeline:write'])).rejects.toMatchObject({ code: 'scope-missing' })
  const { body } = await api(scene, 'POST', '/api/agents', { body: { name: 'x' }, token: await key('api', ['runtime:write']) })
  expect(body).toMatchObject({
    code: 'scope-missing',
    message: 'The key "api" does not have the scope agent:write. It has runtime:write.',
  })
})

test('every user route except those of the own identity and of the version requires a scope from a limited key (R007)', async () => {
  await using scene = await openHttpScene()
  const routes = allRoutes(scene.server.app, openAuthenticator(scene.server.app.store.query, scene.server.app.vault))
  const free = routes.filter(({ spec }) => isForUsers(spec.allow) && spec.scope === 'none')
  const own = [
    '/v1/whoami',
    '/v1/session/preferences',
    '/v1/sessions/codes',
    '/v1/sessions/current',
    '/api/user',
    '/api/execution-contexts/current',
  ]
  // Its fields have the scopes of the routes that they call.
  const graphql = '/2.0/api/graphql'
  // It checks the scope itself, so that the audit log has the refusal.
  const calls = '/v1/gitops-runtimes/{runtime}/calls'
  const versions = ['/api/version', '/api/hermes/version', '/nomios/version']
  expect(new Set(free.map(({ path }) => path))).toEqual(new Set([...own, graphql, calls, ...versions]))
  expect(SCOPES.toSorted()).toEqual(SCOPES)
})

test('the token of a deleted agent restores the same agent, and the token of an existing agent returns it (R015)', async () => {
  await using scene = await openHttpScene()
  const register = (body: object): Promise<z.output<typeof AgentCreated>> =>
    scene.admin.call('POST', '/v1/agents', AgentCreated, { body })
  const first = await register({ name: 'runner', runtimes: ['a/b'] })
  expect(await register({ name: 'runner', token: first.token, runtimes: ['c/d'] })).toMatchObject({
    id: first.id,
    runtimes: ['a/b', 'c/d'],
  })
  await scene.admin.call('DELETE', '/v1/agents/runner', z.unknown())
  await expect(helloAgent(scene.server.url, first.token)).rejects.toMatchObject({ code: 'unauthenticated' })
  const again = await register({ name: 'runner', token: first.token })
  expect([again.id, again.token]).toEqual([first.id, first.token])
  await helloAgent(scene.server.url, first.token)
  const own = scene.nobody.withToken(first.token)
  expect(await own.call('GET', '/v1/agent', Agent)).toMatchObject({ id: first.id, name: 'runner', health: 'healthy' })
  await expect(register({ name: 'runner', token: `${first.id}.${'x'.repeat(43)}` })).rejects.toMatchObject({ code: 'conflict' })
  await expect(register({ name: 'other', token: first.token })).rejects.toMatchObject({ code: 'conflict' })
  await expect(register({ name: 'other', token: 'nonsense' })).rejects.toMatchObject({ code: 'request-invalid' })
})

test('renames an agent together with the runtimes that name it, and a new token replaces the old one at once', async () => {
  await using scene = await openHttpScene()
  const change = (name: string, body: object): Promise<z.output<typeof Agent>> =>
    scene.admin.call('PATCH', `/v1/agents/${name}`, Agent, { body })
  expect(await change('agent', { name: 'renamed' })).toMatchObject({ name: 'renamed', runtimes: ['local'] })
  expect(await scene.admin.call('GET', '/v1/runtimes/local', Runtime)).toMatchObject({
    agent: 'renamed',
    agentOnline: true,
    agentState: { exists: true, lastSeenAt: expect.any(Number) },
  })
  await scene.admin.call('POST', '/v1/agents', AgentCreated, { body: { name: 'second' } })
  await expect(change('second', { name: 'renamed' })).rejects.toMatchObject({ code: 'conflict' })
  await expect(change('nobody', { runtimes: [] })).rejects.toMatchObject({ code: 'not-found' })
  expect(await change('second', { runtimes: ['x'] })).toMatchObject({ name: 'second', runtimes: ['x'] })
  const { token, id } = await scene.admin.call('POST', '/v1/agents/renamed/token', AgentCreated)
  await expect(helloAgent(scene.server.url, scene.agentToken)).rejects.toMatchObject({ code: 'unauthenticated' })
  expect((await helloAgent(scene.server.url, token)).epoch).toBeGreaterThan(1)
  expect(token.startsWith(`${id}.`)).toBe(true)
})

test('an agent serves only the runtimes that it is given, also if others name it', async () => {
  await using scene = await openHttpScene()
  const change = (runtimes: readonly string[]): Promise<z.output<typeof Agent>> =>
    scene.admin.call('PATCH', '/v1/agents/agent', Agent, { body: { runtimes } })
  expect(await change(['local', 'other'])).toMatchObject({ runtimes: ['local', 'other'] })
  expect(await scene.admin.call('GET', '/v1/runtimes/local', Runtime)).toMatchObject({ agent: 'agent' })
  const { version } = await scene.admin.call('GET', '/v1/runtimes/local', Runtime)
  expect(await change(['other'])).toMatchObject({ runtimes: ['other'] })
  // Who read the runtime before must not attach it again by a conditional change.
  expect(await scene.admin.call('GET', '/v1/runtimes/local', Runtime)).toMatchObject({ version: version + 1, changedBy: 'admin' })
  expect(await change([])).toMatchObject({ runtimes: [] })
  expect(await scene.admin.call('GET', '/v1/runtimes/local', Runtime)).toMatchObject({ agentOnline: false })
  expect(await change(['local'])).toMatchObject({ runtimes: ['local'] })
})

test('signs certificates of daemons with one CA per account, for the requested names, and only for admins and agents (R049)', async () => {
  await using scene = await openHttpScene()
  const { csr } = await request()
  const body = { csr, names: ['IP:127.0.0.1', 'DNS:dind', 'DNS:*.dind.builds.svc'] }
  const sign = (client = scene.admin): Promise<z.output<typeof SignedCertificate>> =>
    client.call('POST', '/v1/certificates', SignedCertificate, { body })
  const [first, second] = [await sign(), await sign(scene.nobody.withToken(scene.agentToken))]
  expect(second.ca).toBe(first.ca)
  const certificate = new X509Certificate(first.certificate)
  expect(certificate.verify(new X509Certificate(first.ca).publicKey)).toBe(true)
  expect(certificate.checkHost('dind-1.dind.builds.svc')).toBe('*.dind.builds.svc')
  expect(first.expiresAt).toBeGreaterThan(Date.now() + 365 * 86_400_000)
  const short = await scene.admin.call('POST', '/v1/certificates', SignedCertificate, { body: { ...body, days: 90 } })
  const { validFromDate, validToDate } = new X509Certificate(short.certificate)
  expect(validToDate.getTime() - validFromDate.getTime()).toBeLessThan(91 * 86_400_000)
  expect(short.expiresAt - validToDate.getTime()).toBeLessThan(1_000)
  const wrong = { csr, names: ['DNS:*'] }
  await expect(scene.admin.call('POST', '/v1/certificates', z.unknown(), { body: wrong })).rejects.toMatchObject({
    code: 'request-invalid',
  })
})

test('an installation keeps its events in order, ends with the last one, and continues when it is resumed (R040)', async () => {
  await using scene = await openHttpScene()
  const begun = await scene.admin.call('POST', '/v1/installations', Installation, {
    body: { name: 'my/runtime', options: { yes: true } },
  })
  const add = (event: string, status: string, message?: string): Promise<z.output<typeof Installation>> =>
    scene.admin.call('POST', `/v1/installations/${begun.id}/events`, Installation, { body: { event, status, message } })
  expect(begun).toMatchObject({ status: 'running', events: [], options: { yes: true } })
  await add('acceptance-tests-ran', 'success')
  expect(await add('agent-created', 'failure', 'no rights')).toMatchObject({ status: 'failure' })
  expect(await add('agent-created', 'success')).toMatchObject({ status: 'running' })
  expect(await add('finished', 'success')).toMatchObject({ status: 'success' })
  const { items } = await scene.admin.call('GET', '/v1/installations', page(Installation))
  expect(items.map(({ events }) => events.map(({ event, status }) => `${event} ${status}`))).toEqual([
    ['acceptance-tests-ran success', 'agent-created failure', 'agent-created success', 'finished success'],
  ])
  await expect(add('No Word', 'success')).rejects.toMatchObject({ code: 'request-invalid' })
})

test('registers a cluster behind a firewall by the token of a service account, for deploy steps (R221)', async () => {
  await using scene = await openHttpScene()
  const server = 'https://10.0.0.1:6443'
  const added = await scene.admin.call('POST', '/v1/clusters', Cluster, {
    body: { name: 'private', server, token: 't', behindFirewall: true },
  })
  expect(added).toMatchObject({ name: 'private', provider: 'local', behindFirewall: true })
  const { engine } = await scene.start()
  const kubeconfig = engine.claimed.clusters?.find(({ context }) => context === 'private')?.kubeconfig ?? '{}'
  expect(JSON.parse(kubeconfig)).toMatchObject({ clusters: [{ cluster: { server } }] })
  await expect(scene.admin.call('POST', '/v1/clusters', z.unknown(), { body: { name: 'half', server } })).rejects.toMatchObject({
    code: 'request-invalid',
  })
  expect(await api(scene, 'GET', '/api/clusters')).toEqual({
    status: 200,
    body: [{ _id: added.id, selector: 'private', provider: 'local', providerAgent: 'custom', behindFirewall: true }],
  })
  expect(await api(scene, 'DELETE', `/api/clusters/local/cluster/${added.id}`)).toEqual({ status: 204, body: undefined })
  const encoded = { selector: 'public', host: server, serviceAccountToken: Buffer.from('secret').toString('base64') }
  expect(await api(scene, 'POST', '/api/clusters/local/cluster', { body: encoded })).toMatchObject({
    status: 200,
    body: { selector: 'public', behindFirewall: false },
  })
  expect((await scene.admin.call('GET', '/v1/clusters', page(Cluster))).items.map(({ name }) => name)).toEqual(['public'])
})

test('supports the calls of the Codefresh CLI to install a runner offline, attach it, and remove it (R048, R051)', async () => {
  await using scene = await openHttpScene()
  const progress = await api(scene, 'POST', '/api/runner-installation', {
    body: { options: { kubeNamespace: 'builds', token: 'x.y' } },
  })
  const { id } = z.object({ progress: z.object({ id: z.string() }) }).parse(progress.body).progress
  const name = 'my-cluster/builds'
  const agent = await api(scene, 'POST', '/api/agents', { body: { name: 'my-cluster_builds', runtimes: [] } })
  const created = z.object({ id: z.string(), token: z.string(), account: z.string() }).parse(agent.body)
  expect(agent.body).toMatchObject({ name: 'my-cluster_builds', runtimes: [] })
  expect(await api(scene, 'POST', '/api/agents', { body: { name: 'my-cluster_builds' } })).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('Agent name duplication') },
  })
  const registration = {
    runtimeEnvironmentName: name,
    clusterName: 'my-cluster',
    namespace: 'builds',
    storageClassName: 'dind-local',
    serviceAccount: 'codefresh-engine',
    nodeSelector: { pool: 'ci' },
    agent: true,
  }
  expect(await api(scene, 'POST', '/api/custom_clusters/register', { body: registration })).toMatchObject({
    status: 200,
    body: { metadata: { name, agent: true } },
  })
  expect(await api(scene, 'POST', '/api/custom_clusters/register', { body: registration })).toMatchObject({ status: 200 })
  expect(
    await api(scene, 'POST', '/api/custom_clusters/register', { body: { ...registration, namespace: 'other' } }),
  ).toMatchObject({ status: 409 })
  expect(await api(scene, 'PUT', `/api/agent/${created.id}`, { body: { runtimes: [name], agentId: created.id } })).toMatchObject({
    status: 200,
    body: { runtimes: [name] },
  })
  expect(await api(scene, 'GET', '/api/agents/name/my-cluster_builds')).toMatchObject({
    status: 200,
    body: { id: created.id, runtimes: [name] },
  })
  expect(await api(scene, 'GET', '/api/agents?name=my-cluster_builds')).toMatchObject({ body: [{ id: created.id }] })
  expect(await api(scene, 'GET', '/api/agents/name/no-such')).toMatchObject({ status: 404 })
  expect(await api(scene, 'GET', `/api/auth/key/${created.token}`)).toMatchObject({
    body: { subject: { type: 'agent', ref: created.id } },
  })
  expect(await api(scene, 'GET', `/api/auth/key/${created.id}.${'x'.repeat(43)}`)).toMatchObject({ status: 404 })
  for (const event of ['agent-created', 'runtime-installed', 'finished'])
    expect(
      (await api(scene, 'PATCH', `/api/runner-installation/${id}`, { body: { event, content: { status: 'success' } } })).status,
    ).toBe(200)
  const shown = await api(scene, 'GET', `/api/runner-installation/${id}`)
  expect(shown.body).toMatchObject({
    status: 'success',
    events: [{ event: 'agent-created' }, { event: 'runtime-installed' }, { event: 'finished' }],
  })
  expect(JSON.stringify(shown.body)).not.toContain('x.y')
  expect(await api(scene, 'DELETE', `/api/agent/${created.id}`)).toMatchObject({ status: 204 })
  expect(await api(scene, 'GET', `/api/agent/${created.id}`)).toMatchObject({ status: 404 })
  expect(
    await api(scene, 'PUT', `/api/agent/${created.id}/status`, { token: created.token, body: { message: '' } }),
  ).toMatchObject({ status: 401 })
})

test('the certificate job of the public chart gets a ZIP archive with the CA and the certificate (R049)', async () => {
  await using scene = await openHttpScene()
  const { dir, csr } = await request()
  const body = JSON.stringify({
    reqSubjectAltName: 'IP:127.0.0.1,DNS:dind,DNS:*.dind.builds,DNS:*.dind.builds.svc,DNS:*.cf-cd.com',
    csr,
  })
  const headers = { authorization: scene.adminToken, 'content-type': 'application/json' }
  const answer = await fetch(`${scene.server.url}/api/custom_clusters/signServerCerts`, { method: 'POST', headers, body })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/zip'])
  await writeFile(join(dir, 'certs.zip'), Buffer.from(await answer.arrayBuffer()))
  execFileSync('python3', ['-m', 'zipfile', '-e', 'certs.zip', '.'], { cwd: dir })
  const verified = execFileSync(
    'openssl',
    ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', 'cf-ca.pem', 'cf-server-cert.pem'],
    { cwd: dir, encoding: 'utf8' },
  )
  expect(verified).toContain('OK')
})
