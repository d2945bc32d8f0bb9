/** Checks of contexts by a real agent of a real server, against real registries and Git servers, and fakes of services that cannot run here. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog, systemClock } from '@windlass/kit'
import type { ContextCheck, ContextInput } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { containerHost } from '../../../e2e/support/docker.ts'
import { createRepository, startGitServer } from '../../../e2e/support/git-server.ts'
import { freePort } from '../../../e2e/support/process.ts'
import { startRegistry } from '../../../e2e/support/registry.ts'
import { openHttpScene, type HttpScene } from '../../server/test/support/http-scene.ts'
import { kubernetesExecutor } from '../src/index.ts'
import { startAgentProcess } from './support/agent-process.ts'
import { policyWith } from './support/attempt-objects.ts'
import { makeCertificates } from './support/certificates.ts'
import { openFakeKube } from './support/fake-kube.ts'
import { startFakeService, startGreeter } from './support/fake-service.ts'
import { startIdleAgent, type IdleAgent } from './support/idle-agent.ts'

const PASSWORD = 'hunter2-hunter2'
const login = { username: 'ci', password: PASSWORD }
const auth = { user: 'ci', password: PASSWORD }

let folder: string
let scene: HttpScene
let idle: IdleAgent

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'context-checks-'))
  scene = await openHttpScene()
  idle = await startIdleAgent(scene)
})
afterAll(async () => {
  await idle[Symbol.asyncDispose]()
  await scene[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

type Data = Readonly<Record<string, string>>

/** Stores a context and lets the agent check it. */
async function check(type: ContextInput['type'], data: Data, { admin }: HttpScene = scene): Promise<ContextCheck> {
  await admin.contexts.put('one', { name: 'one', type, data })
  const asked = await admin.contexts.check('one', {})
  for (let turn = 0; turn < 600; turn += 1) {
    const { items } = await admin.contexts.checks('one')
    const found = items.find(({ runtime }) => runtime === asked.runtime)
    if (found !== undefined && found.state !== 'running') return found
    await systemClock.sleep(100)
  }
  throw new Error('the agent does not answer')
}

async function resultOf(type: ContextInput['type'], data: Data, of?: HttpScene): Promise<NonNullable<ContextCheck['result']>> {
  const found = await check(type, data, of)
  if (found.result === undefined) throw new Error(`no result: ${JSON.stringify(found)}`)
  // No answer contains a credential.
  expect(JSON.stringify(found)).not.toContain(PASSWORD)
  return found.result
}

test('logs in to a real registry, and says that it refuses a wrong password (E31)', async () => {
  await using closed = await startRegistry({ auth })
  await using open = await startRegistry()
  const of = (domain: string, more: Data) => resultOf('registry', { domain, ...more })
  expect(await of(closed.domain, login)).toMatchObject({ outcome: 'reached', identity: 'ci', host: closed.domain })
  expect(await of(closed.domain, { ...login, password: 'wrong-password' })).toMatchObject({
    outcome: 'refused',
    reason: 'unauthorized',
  })
  expect(await of(closed.domain, {})).toMatchObject({ outcome: 'refused', reason: 'unauthorized' })
  expect(await of(open.domain, login)).toMatchObject({ outcome: 'reached', hint: expect.stringContaining('asks for no login') })
  const nobody = `127.0.0.1:${await freePort()}`
  expect(await of(nobody, login)).toMatchObject({
    outcome: 'unreachable',
    reason: 'no-connection',
    message: expect.stringContaining(nobody),
  })
  expect(await of('no-such-host.invalid', login)).toMatchObject({ outcome: 'unreachable', reason: 'name-unresolved' })
  expect(await of('registry.example.com/team', login)).toMatchObject({ outcome: 'refused', reason: 'value-invalid' })
})

test('gets a token where the registry takes logins, and sends none to a foreign host (E31)', async () => {
  let realm = ''
  await using registry = await startFakeService((line, { authorization }) => {
    if (line.startsWith('GET /token?')) {
      const isRight = authorization === `Basic ${Buffer.from(`ci:${PASSWORD}`).toString('base64')}`
      return isRight ? { status: 200, body: { token: 'short-lived' } } : { status: 401, body: {} }
    }
    if (authorization === 'Bearer short-lived') return { status: 200, body: {} }
    return { status: 401, headers: { 'www-authenticate': `Bearer realm="${realm}",service="images"` } }
  })
  realm = `${registry.url}/token`
  const domain = `127.0.0.1:${registry.port}`
  expect(await resultOf('registry', { domain, ...login })).toMatchObject({ outcome: 'reached', identity: 'ci' })
  expect(registry.calls.map(({ line }) => line)).toContain('GET /token?account=ci&client_id=windlass&service=images')
  expect(await resultOf('registry', { domain, username: 'ci', password: 'wrong-password' })).toMatchObject({
    reason: 'unauthorized',
  })
  await using foreign = await startFakeService(() => ({ status: 200, body: { token: 'x' } }))
  for (realm of [
    `http://localhost:${foreign.port}/token`,
    'http://169.254.169.254/latest/meta-data/',
    'file:///etc/passwd',
    'nothing',
  ])
    expect(await resultOf('registry', { domain, ...login })).toMatchObject({ outcome: 'unreachable', reason: 'foreign-host' })
  expect(foreign.calls).toEqual([])
})

test('trusts the authority of the agent, and no other (E31)', async () => {
  const { ca, cert, key } = await makeCertificates(folder)
  const tls = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
  const host = await containerHost()
  await using far = await startRegistry({ host: '0.0.0.0', auth, tls })
  // The certificate is for 127.0.0.1, and Docker uses a registry there with any certificate.
  const near = far.domain.replace('0.0.0.0', '127.0.0.1')
  expect(await resultOf('registry', { domain: near, ...login })).toMatchObject({ outcome: 'reached' })
  const other = await resultOf('registry', { domain: far.domain.replace('0.0.0.0', host), ...login })
  expect(other).toMatchObject({ outcome: 'unreachable', reason: 'tls', hint: expect.stringContaining('WINDLASS_AGENT_CA') })
  await using own = await openHttpScene()
  await using _ = await startIdleAgent(own, {}, { caFile: ca })
  const url = far.url.replace('0.0.0.0', 'localhost')
  expect(await resultOf('git', { url, ...login }, own)).toMatchObject({ reason: 'unexpected-answer' })
  expect(await resultOf('git', { url, ...login })).toMatchObject({ reason: 'tls' })
})

test('clones with the login of a context for a real Git server (E31)', async () => {
  const root = join(folder, 'git')
  const files = await mkdtemp(join(folder, 'files-'))
  await writeFile(join(files, 'README.md'), 'hello\n')
  await createRepository({ root, name: 'team/app', from: files })
  await using server = await startGitServer({ root, auth })
  const url = `${server.url}/team/app.git`
  expect(await resultOf('git', { url, ...login })).toMatchObject({
    outcome: 'reached',
    message: expect.stringContaining('/team/app.git'),
  })
  expect(await resultOf('git', { url, username: 'ci', password: 'wrong-password' })).toMatchObject({
    outcome: 'refused',
    reason: 'unauthorized',
  })
  expect(await resultOf('git', { url })).toMatchObject({ outcome: 'refused', reason: 'unauthorized' })
  // The base of several repositories: without the login the answer is another one.
  expect(await resultOf('git', { url: server.url, ...login })).toMatchObject({ outcome: 'reached' })
  await using open = await startGitServer({ root })
  expect(await resultOf('git', { url: open.url })).toMatchObject({ outcome: 'reached', hint: expect.stringContaining('public') })
  expect(await resultOf('git', { url: open.url, ...login })).toMatchObject({
    outcome: 'unreachable',
    reason: 'unexpected-answer',
  })
})

test('asks the API of a forge whom it takes the token for (E31)', async () => {
  const token = `token ${PASSWORD}`
  let scopes = true
  await using forge = await startFakeService((line, { authorization }) => {
    if (line !== 'GET /api/v1/user') return undefined
    if (authorization === token)
      return scopes ? { status: 200, body: { login: 'ann' } } : { status: 403, body: { message: 'scope' } }
    return authorization === `Basic ${Buffer.from('ann:real-password').toString('base64')}`
      ? { status: 200, body: { login: 'ann' } }
      : { status: 401, body: { message: `wrong ${authorization}` } }
  })
  const { url } = forge
  expect(await resultOf('git', { url, ...login })).toMatchObject({
    outcome: 'reached',
    identity: 'ann',
    host: `127.0.0.1:${forge.port}`,
  })
  expect(await resultOf('git', { url, password: PASSWORD })).toMatchObject({
    outcome: 'reached',
    hint: expect.stringContaining('no username'),
  })
  expect(await resultOf('git', { url, username: 'ann', password: 'real-password' })).toMatchObject({
    outcome: 'reached',
    hint: expect.stringContaining('access token'),
  })
  expect(await resultOf('git', { url, ...login, password: 'wrong-password' })).toMatchObject({
    outcome: 'refused',
    reason: 'unauthorized',
  })
  scopes = false
  expect(await resultOf('git', { url, ...login })).toMatchObject({ outcome: 'reached', hint: expect.stringContaining('403') })
  await using moved = await startFakeService((line) => ({ status: 302, headers: { location: `${url}${line}` } }))
  forge.calls.length = 0
  expect(await resultOf('git', { url: moved.url, ...login })).toMatchObject({ outcome: 'unreachable', reason: 'redirected' })
  expect(forge.calls).toEqual([])
})

test('never connects to the metadata service of a cloud (E31)', async () => {
  for (const host of ['169.254.169.254', '0xa9fea9fe', '[::ffff:169.254.169.254]'])
    expect(await resultOf('git', { url: `http://${host}`, ...login })).toMatchObject({
      outcome: 'unreachable',
      reason: 'address-blocked',
    })
  expect(await resultOf('git', { url: 'ssh://git@169.254.169.254', sshPrivateKey: 'KEY', sshKnownHosts: 'x' })).toMatchObject({
    reason: 'address-blocked',
  })
})

test('finds an SSH server, and says that the key is not tried (E31)', async () => {
  await using ssh = await startGreeter('Welcome\r\nSSH-2.0-OpenSSH_9.6\r\n')
  await using other = await startGreeter('220 mail.example.com ESMTP\r\n'.repeat(200))
  const of = (port: number, more: Data = { sshKnownHosts: 'x' }) =>
    resultOf('git', { url: `ssh://git@127.0.0.1:${port}`, sshPrivateKey: 'KEY', ...more })
  expect(await of(ssh.port)).toMatchObject({ outcome: 'reached', hint: expect.stringContaining('not tried') })
  expect(await of(ssh.port, {})).toMatchObject({
    outcome: 'refused',
    reason: 'value-invalid',
    message: expect.stringContaining('sshKnownHosts'),
  })
  expect(await of(other.port)).toMatchObject({ outcome: 'unreachable', reason: 'unexpected-answer' })
  expect(await of(await freePort())).toMatchObject({ outcome: 'unreachable', reason: 'no-connection' })
})

test('reads the keys of a store that pipelines name, and reports no value (E31)', async () => {
  await using vault = await startFakeService((line, { 'x-vault-token': token }) => {
    if (token !== PASSWORD) return { status: 403, body: { errors: ['permission denied'] } }
    if (line === 'GET /v1/auth/token/lookup-self') return { status: 200, body: { data: { display_name: 'approle-ci' } } }
    return line === 'GET /v1/secret/data/team/app'
      ? { status: 200, body: { data: { data: { TOKEN: 'value-of-token' } } } }
      : undefined
  })
  const { admin } = scene
  const of = (more: Data = {}) => resultOf('secret-store', { url: vault.url, token: PASSWORD, path: 'team/app', ...more })
  expect(await of()).toMatchObject({ outcome: 'reached', identity: 'approle-ci', message: expect.stringContaining('team/app') })
  expect(JSON.stringify(await of())).not.toContain('value-of-token')
  expect(await of({ token: 'wrong-token' })).toMatchObject({ outcome: 'refused', reason: 'unauthorized' })
  expect(await of({ path: 'team/none' })).toMatchObject({ outcome: 'refused', reason: 'not-found' })
  const document =
    "version: '1.0'\nsteps:\n  one:\n    image: alpine\n    commands: ['echo ${{secrets.one.TOKEN}} ${{secrets.one.PIN}}']\n"
  await admin.pipelines.create({ name: 'demo/keys', document })
  expect(await of()).toMatchObject({ outcome: 'refused', reason: 'key-missing', message: expect.stringContaining('PIN') })
  await admin.pipelines.delete('demo/keys')
})

test('asks the API of a cluster whom it takes a kubeconfig for (E31)', async () => {
  let isOld = false
  await using cluster = await startFakeService((line, { authorization }) => {
    if (authorization !== `Bearer ${PASSWORD}`) return { status: 401, body: { kind: 'Status' } }
    if (line === 'POST /apis/authentication.k8s.io/v1/selfsubjectreviews' && !isOld)
      return { status: 201, body: { status: { userInfo: { username: 'system:serviceaccount:shop:deployer' } } } }
    return line === 'POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews' ? { status: 201, body: {} } : undefined
  })
  const of = (token: string) => {
    const kubeconfig = JSON.stringify({
      'current-context': 'c',
      clusters: [{ name: 'c', cluster: { server: cluster.url } }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    })
    return resultOf('kubernetes', { kubeconfig })
  }
  expect(await of(PASSWORD)).toMatchObject({ outcome: 'reached', identity: 'system:serviceaccount:shop:deployer' })
  expect(await of('wrong-token')).toMatchObject({ outcome: 'refused', reason: 'unauthorized' })
  isOld = true
  expect(await of(PASSWORD)).toMatchObject({ outcome: 'reached' })
})

test('ends a check of a service that is silent, or sends too much (E31)', async () => {
  await using silent = await startGreeter('')
  const late = await resultOf('git', { url: `http://127.0.0.1:${silent.port}`, ...login })
  expect(late).toMatchObject({ outcome: 'unreachable', reason: 'timeout' })
  await using chatty = await startFakeService(() => ({ status: 200, body: 'x'.repeat(2_000_000) }))
  expect(await resultOf('git', { url: chatty.url, ...login })).toMatchObject({ outcome: 'unreachable', reason: 'too-large' })
})

test('a credential in an answer or a message is masked (E31)', async () => {
  await using echo = await startFakeService((line) =>
    line === 'GET /api/v1/user' ? { status: 200, body: { login: `ann\u001b[31m ${PASSWORD}` } } : undefined,
  )
  expect((await resultOf('git', { url: echo.url, ...login })).identity).toBe('ann [31m *****')
  const broken = await resultOf('git', { url: echo.url, username: 'ci', password: `${PASSWORD}\nsecond line` })
  expect(broken).toMatchObject({ outcome: 'refused', reason: 'value-invalid' })
})

test('an agent in a cluster reads only Secrets that builds may use, and takes loopback addresses for its own (E31)', async () => {
  await using kube = await openFakeKube()
  await using own = await openHttpScene()
  const { admin } = own
  await admin.runtimes.create({
    name: 'pods',
    type: 'kubernetes',
    agent: 'agent',
    isDefault: true,
    spec: { runtimeScheduler: { cluster: { namespace: 'builds' } } },
  })
  const policy = policyWith({ POLICY: 'permissive', SERVICE_ACCOUNTS: 'default', ALLOWED_SECRETS: 'team' })
  const executor = kubernetesExecutor({ kube: kube.kube(), policy, starts: { perCore: 1 } })
  const parts = executor({ report: () => undefined, clock: systemClock, log: silentLog })
  await using _ = await startIdleAgent(own, parts)
  const add = (kind: string, plural: string, name: string, data: Data) =>
    kube.objects.set(`${plural}/${name}`, { apiVersion: 'v1', kind, metadata: { name, namespace: 'builds' }, data })
  add('Secret', 'secrets', 'team', { TOKEN: 'dmFsdWU=' })
  add('Secret', 'secrets', 'of-others', { TOKEN: 'dmFsdWU=' })
  const of = (data: Data) => resultOf('secret-store', data, own)
  expect(await of({ resourceName: 'team' })).toMatchObject({ outcome: 'reached', message: expect.stringContaining('1 key') })
  expect(await of({ resourceName: 'of-others' })).toMatchObject({
    outcome: 'refused',
    reason: 'not-allowed',
    hint: expect.stringContaining('WINDLASS_AGENT_ALLOWED_SECRETS'),
  })
  expect(await of({ resourceName: 'settings', resourceType: 'configmap' })).toMatchObject({
    outcome: 'refused',
    reason: 'not-found',
  })
  kube.intercept = ({ plural }) => (plural === 'configmaps' ? { status: 403, reason: 'Forbidden' } : undefined)
  expect(await of({ resourceName: 'settings', resourceType: 'configmap' })).toMatchObject({
    outcome: 'refused',
    reason: 'forbidden',
  })
  kube.intercept = () => undefined
  const document =
    "version: '1.0'\nsteps:\n  one:\n    image: alpine\n    commands: ['echo ${{secrets.one.TOKEN}} ${{secrets.one.PIN}}']\n"
  await admin.pipelines.create({ name: 'demo/keys', document })
  expect(await of({ resourceName: 'team' })).toMatchObject({
    outcome: 'refused',
    reason: 'key-missing',
    message: expect.stringContaining('PIN'),
  })
  expect(kube.writes()).toEqual([])
  // A registry without TLS: builds use it only if the settings of the daemons name it.
  await using plain = await startRegistry({ host: '0.0.0.0', auth })
  const domain = plain.domain.replace('0.0.0.0', await containerHost())
  expect(await resultOf('registry', { domain, ...login }, own)).toMatchObject({ outcome: 'refused', reason: 'plain-http' })
  add('ConfigMap', 'configmaps', 'codefresh-dind-config', { 'daemon.json': JSON.stringify({ 'insecure-registries': [domain] }) })
  expect(await resultOf('registry', { domain, ...login }, own)).toMatchObject({ outcome: 'reached', identity: 'ci' })
  const near = plain.domain.replace('0.0.0.0', '127.0.0.1')
  for (const host of [near, near.replace('127.0.0.1', 'localhost')])
    expect(await resultOf('registry', { domain: host, ...login }, own)).toMatchObject({ reason: 'address-blocked' })
})

test('the process of an agent logs no credential (E31)', async () => {
  await using kube = await openFakeKube()
  await using own = await openHttpScene()
  const { admin } = own
  const spec = { runtimeScheduler: { cluster: { namespace: 'builds' } } }
  await admin.runtimes.create({ name: 'pods', type: 'kubernetes', agent: 'agent', isDefault: true, spec })
  const kubeconfig = join(folder, 'own.kubeconfig')
  const access = {
    'current-context': 'own',
    contexts: [{ name: 'own', context: { cluster: 'own', user: 'own', namespace: 'builds' } }],
    clusters: [{ name: 'own', cluster: { server: kube.url } }],
    users: [{ name: 'own', user: { token: 'account-of-the-pod' } }],
  }
  await writeFile(kubeconfig, JSON.stringify(access))
  await using agent = await startAgentProcess({
    WINDLASS_AGENT_SERVER_URL: own.server.url,
    WINDLASS_AGENT_TOKEN: own.agentToken,
    WINDLASS_AGENT_KUBECONFIG: kubeconfig,
    WINDLASS_AGENT_RUNTIME: 'pods',
    WINDLASS_AGENT_STATE_DIR: join(folder, 'state'),
    WINDLASS_AGENT_LOG_LEVEL: 'debug',
  })
  await using closed = await startRegistry({ host: '0.0.0.0', auth })
  const domain = closed.domain.replace('0.0.0.0', await containerHost())
  const name = 'codefresh-dind-config'
  const data = { 'daemon.json': JSON.stringify({ 'insecure-registries': [domain] }) }
  kube.objects.set(`configmaps/${name}`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'builds' }, data })
  for (let turn = 0; (await admin.agents.get('agent')).executor !== 'kubernetes'; turn += 1) {
    if (turn > 600) throw new Error(`the agent did not say hello: ${agent.log()}`)
    await systemClock.sleep(100)
  }
  expect(await resultOf('registry', { domain, ...login }, own)).toMatchObject({ outcome: 'reached', identity: 'ci' })
  expect(await resultOf('registry', { domain, ...login, password: 'wrong-password' }, own)).toMatchObject({
    reason: 'unauthorized',
  })
  expect(agent.log()).not.toMatch(/hunter2-hunter2|wrong-password/)
})
