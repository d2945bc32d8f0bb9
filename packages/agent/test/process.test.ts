/** The process of the agent: its settings, runtime files, signals and exit, against a scripted platform and small API servers. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AGENT_ROUTES } from '@windlass/client/agent'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentProcess, type AgentProcess } from './support/agent-process.ts'
import { makeCertificates } from './support/certificates.ts'
import { openConnectProxy } from './support/connect-proxy.ts'
import { openFakeKube, type FakeKube } from './support/fake-kube.ts'
import { openFakePlatform, type FakePlatform } from './support/fake-platform.ts'
import { gate, task, TOKEN, until } from './support/v1-scene.ts'

let folder: string
let platform: FakePlatform
let near: FakeKube
let far: FakeKube
let dir: string
let count = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-process-'))
  ;[near, far] = [await openFakeKube(), await openFakeKube()]
})
afterAll(async () => {
  await near[Symbol.asyncDispose]()
  await far[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const fileOf = (name: string, kube: FakeKube, token = `token-of-${name}`): string =>
  ['type: runtime', `name: ${name}`, `host: ${kube.url}`, `token: ${token}`, 'crt: |', '  none', ''].join('\n')

/** Writes a kubeconfig that replaces the service account of a pod. */
function ownKubeconfig(): string {
  const path = join(folder, 'own.kubeconfig')
  const context = { cluster: 'own', user: 'own', namespace: 'builds' }
  const config = {
    'current-context': 'own',
    contexts: [{ name: 'own', context }],
    clusters: [{ name: 'own', cluster: { server: near.url } }],
    users: [{ name: 'own', user: { token: 'account-of-the-pod' } }],
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

/** Opens an empty platform, an empty folder of runtime files, and the settings of a process for them. */
async function scene(): Promise<Record<string, string> & AsyncDisposable> {
  platform = await openFakePlatform()
  count += 1
  dir = join(folder, `runtimes-${count}`)
  mkdirSync(dir)
  for (const kube of [near, far]) {
    kube.calls.length = 0
    kube.objects.clear()
  }
  return {
    CODEFRESH_TOKEN: TOKEN,
    CODEFRESH_HOST: platform.url,
    AGENT_ID: 'cluster/one',
    VENONA_CONFIG_DIR: dir,
    TASK_PULLING_INTERVAL: '0.05',
    WINDLASS_AGENT_STATE_DIR: join(folder, `state-${count}`),
    // The tests are about the process and use minimal objects.
    WINDLASS_AGENT_POLICY: 'permissive',
    WINDLASS_AGENT_SERVICE_ACCOUNTS: 'default',
    WINDLASS_AGENT_NAMESPACES: 'builds',
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  } as Record<string, string> & AsyncDisposable
}

const polls = (agent: AgentProcess): Promise<void> =>
  until(`polls of the agent, which says ${agent.log()}`, () => platform.polls.length > 0)
const reported = (id: string): Promise<void> => until(`a report of ${id}`, () => platform.reportsOf(id).length > 0)

test('finds out that its platform speaks v1, serves health and metrics, and reveals no secret (R238)', async () => {
  await using env = await scene()
  writeFileSync(join(dir, 'a.runtime.yaml'), fileOf('re', near, 'cluster-secret'))
  await using agent = await startAgentProcess(env, 'start')
  await polls(agent)
  expect(platform.others[0]).toMatchObject({ method: 'POST', path: AGENT_ROUTES.hello.path })
  const answer = async (path: string): Promise<string> => {
    const response = await fetch(`${agent.health}${path}`)
    return `${response.status} ${await response.text()}`
  }
  expect(await answer('/health')).toBe('200 OK')
  expect(await answer('/livez')).toBe('200 ok\n')
  await until('it is ready', () => agent.log().includes('pulled') || platform.polls.length > 2)
  expect(await answer('/readyz')).toBe('200 ok\n')
  const metrics = await answer('/metrics')
  for (const name of ['runner_queue_size 0', 'runner_get_tasks_requests', 'windlass_agent_runtimes 1'])
    expect(metrics).toContain(name)
  const secret = {
    ...task('CreatePod'),
    spec: { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p', namespace: 'n' }, spec: { env: 'build-secret' } },
  }
  platform.script.push([secret])
  await reported(secret._id)
  for (const word of [TOKEN, TOKEN.split('.')[1] ?? '', 'cluster-secret', 'build-secret']) expect(agent.log()).not.toContain(word)
  const state = readFileSync(join(env['WINDLASS_AGENT_STATE_DIR'] ?? '', 'work.sqlite')).toString('latin1')
  expect(state).not.toContain('build-secret')
})

test('creates objects in the cluster of their runtime, also if another file is broken (R237, R144, A20, A21)', async () => {
  await using env = await scene()
  writeFileSync(join(dir, 'near.runtime.yaml'), fileOf('near/builds', near))
  mkdirSync(join(dir, 'deep'))
  writeFileSync(join(dir, 'deep', 'far.runtime.yaml'), fileOf('far/builds', far))
  writeFileSync(join(dir, 'broken.runtime.yaml'), 'token: [very-secret')
  writeFileSync(join(dir, 'readme.yaml'), 'type: other')
  await using agent = await startAgentProcess(env)
  const [here, there] = [
    task('CreatePod', { runtime: 'near/builds' }),
    task('CreatePod', { runtime: 'far/builds', workflow: 'wf2' }),
  ]
  platform.script.push([here, there])
  await Promise.all([reported(here._id), reported(there._id)])
  expect(near.writes().map(({ line, token }) => [line, token])).toEqual([['POST pods/x-wf1', 'token-of-near/builds']])
  expect(far.writes().map(({ line, token }) => [line, token])).toEqual([['POST pods/x-wf2', 'token-of-far/builds']])
  await until('the broken file is logged', () => agent.log().includes('broken.runtime.yaml'))
  expect(agent.log()).not.toContain('very-secret')
})

test('is not blocked by a cluster that does not answer', async () => {
  await using env = await scene()
  const held = gate()
  near.intercept = ({ method }) => (method === 'GET' ? undefined : held.opened)
  writeFileSync(join(dir, 'near.runtime.yaml'), fileOf('near', near))
  writeFileSync(join(dir, 'far.runtime.yaml'), fileOf('far', far))
  await using _ = await startAgentProcess(env)
  const stuck = Array.from({ length: 60 }, (__, n) => task('CreatePod', { runtime: 'near', workflow: `stuck${n}` }))
  const fine = Array.from({ length: 20 }, (__, n) => task('CreatePod', { runtime: 'far', workflow: `fine${n}` }))
  platform.script.push([...stuck, ...fine])
  await Promise.all(fine.map(({ _id }) => reported(_id)))
  expect(platform.reports).toHaveLength(20)
  near.intercept = () => undefined
  held.open()
})

test('picks up new, removed and changed runtime files without a restart (R146)', async () => {
  await using env = await scene()
  writeFileSync(join(dir, 'near.runtime.yaml'), fileOf('near', near, 'old'))
  await using agent = await startAgentProcess(env)
  await polls(agent)
  writeFileSync(join(dir, 'far.runtime.yaml'), fileOf('far', far))
  await until('the new runtime', () => agent.log().includes('"runtime":"far"'))
  writeFileSync(join(dir, 'near.runtime.yaml'), fileOf('near', near, 'new'))
  const [added, renewed] = [task('CreatePod', { runtime: 'far' }), task('CreatePod', { runtime: 'near', workflow: 'wf2' })]
  platform.script.push([added])
  await reported(added._id)
  expect(far.writes()).toHaveLength(1)
  // A read sees the files that are in the folder at that time.
  unlinkSync(join(dir, 'far.runtime.yaml'))
  await until('the runtime goes', () => agent.log().includes('runtime removed'))
  platform.script.push([renewed])
  await reported(renewed._id)
  expect(near.writes().at(-1)?.token).toBe('new')
  const late = task('CreatePod', { runtime: 'far', workflow: 'wf3' })
  platform.script.push([late])
  await reported(late._id)
  expect(platform.reportsOf(late._id)[0]).toMatchObject({ status: 'Error', isRetriable: false })
})

/** Swaps the contents of a folder as Kubernetes does with a mounted Secret. */
function mountSecret(contents: Record<string, string>): void {
  count += 1
  const version = `..2026_${count}`
  mkdirSync(join(dir, version))
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(dir, version, name), text)
  symlinkSync(version, join(dir, '..data_tmp'))
  renameSync(join(dir, '..data_tmp'), join(dir, '..data'))
  for (const name of Object.keys(contents)) {
    rmSync(join(dir, name), { force: true })
    symlinkSync(join('..data', name), join(dir, name))
  }
}

test('reads a mounted Secret once, and again when Kubernetes swaps it (R146)', async () => {
  await using env = await scene()
  mountSecret({ 'near.runtime.yaml': fileOf('near', near) })
  await using agent = await startAgentProcess(env)
  await polls(agent)
  expect(agent.log()).not.toContain('invalid runtime file')
  mountSecret({ 'near.runtime.yaml': fileOf('near', near), 'far.runtime.yaml': fileOf('far', far) })
  await until('the new runtime', () => agent.log().includes('"runtime":"far"'))
})

test('does not start if two files name one runtime (R237)', async () => {
  await using env = await scene()
  writeFileSync(join(dir, 'a.runtime.yaml'), fileOf('re', near))
  writeFileSync(join(dir, 'b.runtime.yaml'), fileOf('re', far))
  await using agent = await startAgentProcess(env)
  expect(await agent.ended()).toBe(1)
  expect(agent.log()).toContain('b.runtime.yaml: it names the runtime re, which a.runtime.yaml names already')
})

test('exits with a clear message without any runtime (A22)', async () => {
  await using env = await scene()
  writeFileSync(join(dir, 'broken.runtime.yaml'), 'type: other')
  await using agent = await startAgentProcess(env)
  expect(await agent.ended()).toBe(1)
  expect(agent.log()).toContain('No file of')
  expect(agent.log()).toContain('broken.runtime.yaml')
})

test('exits and names a setting that is not positive', async () => {
  await using env = await scene()
  await using agent = await startAgentProcess({ ...env, WORKFLOW_CONCURRENCY: '0' })
  expect(await agent.ended()).toBe(1)
  expect(agent.log()).toContain('WORKFLOW_CONCURRENCY')
})

test('serves only the runtime of its own cluster if one is set, with the rights of its pod (R236, A23)', async () => {
  await using env = await scene()
  writeFileSync(join(dir, 'far.runtime.yaml'), fileOf('far', far))
  const kubeconfig = ownKubeconfig()
  await using _ = await startAgentProcess({ ...env, CODEFRESH_IN_CLUSTER_RUNTIME: 'mine', WINDLASS_AGENT_KUBECONFIG: kubeconfig })
  const [mine, other] = [task('CreatePod', { runtime: 'mine' }), task('CreatePod', { runtime: 'far', workflow: 'wf2' })]
  platform.script.push([mine, other])
  await Promise.all([reported(mine._id), reported(other._id)])
  expect(near.writes()).toMatchObject([{ line: 'POST pods/x-wf1', token: 'account-of-the-pod' }])
  expect(platform.reportsOf(other._id)[0]).toMatchObject({ status: 'Error', isRetriable: false })
})

test('serves the runtimes of its own cluster in addition to those of files, which may come later (R144)', async () => {
  await using env = await scene()
  const own = {
    WINDLASS_AGENT_OWN_RUNTIMES: 'own/builds, team/builds',
    WINDLASS_AGENT_KUBECONFIG: ownKubeconfig(),
  }
  await using agent = await startAgentProcess({ ...env, ...own })
  const tasks = ['own/builds', 'team/builds'].map((runtime, n) => task('CreatePod', { runtime, workflow: `wf${n}` }))
  platform.script.push(tasks)
  await Promise.all(tasks.map(({ _id }) => reported(_id)))
  expect(near.writes()).toHaveLength(2)
  writeFileSync(join(dir, 'far.runtime.yaml'), fileOf('far/builds', far))
  await until('the new runtime', () => agent.log().includes('"runtime":"far/builds"'))
  const late = task('CreatePod', { runtime: 'far/builds' })
  platform.script.push([late])
  await reported(late._id)
  expect(far.writes()).toHaveLength(1)
  // The wizard writes such a file for the runtime of the agent's own cluster.
  writeFileSync(join(dir, 'own.runtime.yaml'), 'name: own/builds\ninCluster: true\n')
  // A file that names another cluster is a mistake.
  writeFileSync(join(dir, 'team.runtime.yaml'), fileOf('team/builds', far))
  await until('the mistake is logged', () => agent.log().includes('it names another cluster'))
  expect(agent.log()).not.toContain('"file":"own/builds"')
})

test('refuses a platform with an unknown CA unless TLS verification is off, which it logs once (R069, A27)', async () => {
  await using env = await scene()
  const files = await makeCertificates(folder)
  await using secure = await openFakePlatform({
    tls: { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') },
  })
  writeFileSync(join(dir, 'a.runtime.yaml'), fileOf('re', near))
  const settings = { ...env, CODEFRESH_HOST: secure.url, WINDLASS_AGENT_PROTOCOL: 'v1' }
  {
    await using strict = await startAgentProcess(settings)
    await until('a refusal', () => strict.log().includes('certificate'))
    expect(secure.polls).toHaveLength(0)
  }
  {
    await using trusting = await startAgentProcess({
      ...settings,
      WINDLASS_AGENT_CA: files.ca,
      WINDLASS_AGENT_STATE_DIR: join(folder, 'ca'),
    })
    await until(`polls, but it says ${trusting.log()}`, () => secure.polls.length > 0)
  }
  secure.polls.length = 0
  await using loose = await startAgentProcess({
    ...settings,
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    WINDLASS_AGENT_STATE_DIR: join(folder, 'loose'),
  })
  await until('polls', () => secure.polls.length > 3)
  expect(loose.log().match(/TLS certificates of the server and the clusters are not verified/g)).toHaveLength(1)
})

test('polls by CONNECT through a proxy with a login and a private CA (R061, R241)', async () => {
  await using env = await scene()
  const files = await makeCertificates(folder)
  const tls = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') }
  await using secure = await openFakePlatform({ tls })
  await using proxy = await openConnectProxy({ login: 'robot:pr0xy-secret', hosts: { 'platform.example': '127.0.0.1' } })
  writeFileSync(join(dir, 'near.runtime.yaml'), fileOf('near', near))
  const host = `platform.example:${new URL(secure.url).port}`
  await using agent = await startAgentProcess({
    ...env,
    CODEFRESH_HOST: `https://${host}`,
    https_proxy: `http://robot:pr0xy-secret@127.0.0.1:${proxy.port}`,
    WINDLASS_AGENT_CA: files.ca,
  })
  await until(`polls, but it says ${agent.log()}`, () => secure.polls.length > 0)
  expect(proxy.passed[0]).toBe(`CONNECT ${host}`)
  const created = task('CreatePod', { runtime: 'near' })
  secure.script.push([created])
  await until('a report', () => secure.reportsOf(created._id).length > 0)
  // The cluster is reached directly.
  expect(proxy.passed.every((line) => line === `CONNECT ${host}`)).toBe(true)
  expect(agent.log()).not.toContain('pr0xy-secret')
})

test('stops polling on SIGTERM, finishes and reports the pulled tasks, and exits with 0 (R239, A19)', async () => {
  await using env = await scene()
  const held = gate()
  near.intercept = ({ method }) => (method === 'GET' ? undefined : held.opened)
  writeFileSync(join(dir, 'near.runtime.yaml'), fileOf('near', near))
  await using agent = await startAgentProcess({ ...env, WORKFLOW_CONCURRENCY: '1' })
  const tasks = Array.from({ length: 6 }, (_, n) => task('CreatePod', { runtime: 'near', workflow: `wf${n}` }))
  platform.script.push(tasks)
  await until('the first call', () => near.writes().length === 1)
  agent.kill('SIGTERM')
  await until('no more polls', () => platform.polls.length > 0)
  near.intercept = () => undefined
  held.open()
  expect(await agent.ended()).toBe(0)
  expect(tasks.map(({ _id }) => platform.reportsOf(_id).length)).toEqual(tasks.map(() => 1))
})

test('keeps unsent reports across kill -9', async () => {
  await using env = await scene()
  writeFileSync(join(dir, 'near.runtime.yaml'), fileOf('near', near))
  let isAway = true
  platform.trouble = ({ path }) => (isAway && path.endsWith('/statuses') ? 503 : undefined)
  const tasks = Array.from({ length: 10 }, (_, n) => task('CreatePod', { runtime: 'near', workflow: `kill${n}`, revision: n }))
  {
    await using agent = await startAgentProcess(env)
    platform.script.push(tasks)
    await until('all are made, and reports were tried', () => near.writes().length === 10 && platform.reports.length > 0)
    await until('the ledger has all of them', () => tasks.some(({ _id }) => platform.reportsOf(_id).length > 0))
    agent.kill('SIGKILL')
    await agent.ended()
  }
  platform.reports.length = 0
  isAway = false
  await using _ = await startAgentProcess(env)
  await Promise.all(tasks.map(({ _id }) => reported(_id)))
  // Objects that were created but not recorded before the kill are reported as failed and sent again; they exist already then.
  for (const [n, { _id }] of tasks.entries()) expect(platform.reportsOf(_id)[0]).toMatchObject({ statusRevision: n + 1 })
})
