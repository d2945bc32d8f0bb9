/** The Runner from the command line, on the real cluster: the wizard, a second runtime, the upgrade, the old installer, the removal. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { openClient, type ApiClient } from '@windlass/client'
import { nodeTransport, silentLog } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Cluster, startCluster } from '../../support/cluster.ts'
import { codeFileOf } from '../../support/first-admin.ts'
import { ensureImages } from '../../support/images.ts'
import { eventually } from '../../support/installation.ts'
import { startPodServer } from '../../support/pod-server.ts'
import { runProgram, type Service } from '../../support/process.ts'
import { WINDLASS } from '../../support/programs.ts'
import { openTerminal } from './terminal.ts'

const root = join(import.meta.dirname, '../../..')
const FIRST = `cli-${process.pid}`
const SECOND = `cli-${process.pid}-b`
const OLD = `cli-${process.pid}-old`
/** The kubeconfig context of this test only, so that other Runners of the cluster do not interfere. */
const CONTEXT = `node-${process.pid}`
const AGENT = `${CONTEXT}_${FIRST}`
const RUNTIME = `${CONTEXT}/${FIRST}`
const ENTER = '\r'
/** Helm alone may wait 300 s. Shorter than the limit of a test, so that the output of a command that hangs is shown. Milliseconds. */
const COMMAND_MS = 540_000

let cluster: Cluster
let server: Service
let folder = ''
let url = ''
let env: NodeJS.ProcessEnv = {}
let images: Record<string, string> = {}
let token = ''
let agentId = ''

type Finished = { readonly code: number | null; readonly stdout: string; readonly stderr: string; readonly all: string }
async function windlass(...args: string[]): Promise<Finished> {
  const child = spawn(WINDLASS, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: COMMAND_MS })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')))
  const [code] = await once(child, 'close')
  return { code: typeof code === 'number' ? code : null, stdout, stderr, all: stdout + stderr }
}

async function succeed(...args: string[]): Promise<Finished> {
  const finished = await windlass(...args)
  expect(finished.code, finished.all).toBe(0)
  return finished
}

/** Returns a client with the key of the installation. */
async function client(): Promise<ApiClient> {
  const { contexts } = parse(await readFile(join(folder, 'config.yaml'), 'utf8'))
  return openClient({ url, token: String(contexts[0].apiKey), transport: nodeTransport() })
}

const disks = (name: string): string[] => ['--set-value', `Storage.LocalVolumeParentDir=${join(folder, name)}`]

beforeAll(async () => {
  images = await ensureImages('shell', 'debian', 'node', 'tools', 'dind', 'windlass')
  cluster = await startCluster()
  await cluster.load(images['DIND_IMAGE'] ?? '', images['WINDLASS_IMAGE'] ?? '')
  const helm = /HELM=(\S+)/.exec(await runProgram(join(root, 'scripts/helm/build'), []))?.[1] ?? ''
  folder = await mkdtemp(join(tmpdir(), `${FIRST}-`))
  const kubeconfig = parse(await readFile(cluster.kubeconfig, 'utf8'))
  kubeconfig.contexts[0].name = CONTEXT
  kubeconfig['current-context'] = CONTEXT
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 })
  env = {
    ...process.env,
    WINDLASS_CONFIG: join(folder, 'config.yaml'),
    WINDLASS_HELM: helm,
    KUBECONFIG: join(folder, 'kubeconfig'),
    HELM_CACHE_HOME: join(folder, 'helm'),
    HELM_CONFIG_HOME: join(folder, 'helm'),
    HELM_DATA_HOME: join(folder, 'helm'),
    NO_COLOR: '1',
  }
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy']) delete env[name]
  const started = await startPodServer(folder)
  server = started.service
  url = started.url
  await succeed('auth', 'login', '--url', url, '--first-admin', '--code-file', codeFileOf(join(folder, 'server')))
})

afterAll(async () => {
  for (const namespace of [FIRST, SECOND, OLD]) {
    await runProgram(
      env['WINDLASS_HELM'] ?? '',
      ['uninstall', 'windlass-runtime', '--namespace', namespace, '--ignore-not-found'],
      { env },
    ).catch(() => '')
    await cluster?.kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--timeout=90s')
    await cluster?.kubectl('delete', 'persistentvolumes', '--selector', `pod_namespace=${namespace}`)
    await cluster?.kubectl('delete', 'clusterrole,clusterrolebinding', `runner-${namespace}`, '--ignore-not-found')
  }
  await server?.stop('SIGKILL')
  if (folder !== '') await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

test('a dry run writes one file per object and changes neither cluster nor server (R013, R032)', async () => {
  const values = join(folder, 'values.yaml')
  await writeFile(
    values,
    `StorageClass: fast\nTolerations: [{ key: runner, operator: Exists }]\nRuntime: { NodeSelector: pool=builds }\n`,
  )
  const { stdout } = await succeed('runner', 'init', '--dry-run', '--values', values, '--kube-namespace', FIRST)
  const files = await readdir(join(folder, 'codefresh_manifests'))
  expect(files).toContain('deployment.runner.yaml')
  expect(files.filter((name) => name.includes('provisioner'))).toEqual([])
  expect(stdout.trim().split('\n')).toHaveLength(files.length)
  const agent = await readFile(join(folder, 'codefresh_manifests/deployment.runner.yaml'), 'utf8')
  expect(parse(agent).spec.template.spec.tolerations).toEqual([{ key: 'runner', operator: 'Exists' }])
  expect(await cluster.kubectl('get', 'namespace', FIRST, '--ignore-not-found', '--output', 'name')).toBe('')
  expect((await (await client()).agents.list()).items).toEqual([])
})

test('values for Helm are written, with the agent and runtime on the server, and the cluster is not changed (R043)', async () => {
  const names = ['--name', 'by-helm', '--runtime-name', 'by-helm/runtime', '--kube-namespace', FIRST]
  const skips = ['--skip-cluster-test', '--skip-cluster-integration', '--exec-demo-pipeline', 'false']
  await succeed('runner', 'init', '--yes', ...names, '--generate-helm-values-file', ...skips)
  const values = parse(await readFile(join(folder, 'generated_values.yaml'), 'utf8'))
  expect(values.global).toMatchObject({
    agentName: 'by-helm',
    runtimeName: 'by-helm/runtime',
    codefreshHost: url,
    context: CONTEXT,
  })
  const { agents, runtimes } = await client()
  expect(await agents.get('by-helm')).toMatchObject({ runtimes: ['by-helm/runtime'], status: 'never-seen' })
  expect(values.global.agentToken).toMatch(new RegExp(`^${(await agents.get('by-helm')).id}\\.`))
  // The first runtime of an account is its default.
  expect(await runtimes.get('by-helm/runtime')).toMatchObject({ agent: 'by-helm', isDefault: true })
  expect(await cluster.kubectl('get', 'namespace', FIRST, '--ignore-not-found', '--output', 'name')).toBe('')
})

test('the wizard continues where it stopped when it is killed and called again (R012, R039)', async () => {
  const image = images['TOOLS_IMAGE'] ?? ''
  const args = ['runner', 'init', ...disks('disks'), '--demo-image', image, '--install-monitor=false', '--set-default-runtime']
  const wizard = openTerminal(WINDLASS, args, { env, cwd: folder })
  await wizard.says('Kubernetes context')
  wizard.type(ENTER)
  await wizard.says('Namespace')
  wizard.type(FIRST)
  wizard.type(ENTER)
  await wizard.says('Run a demo pipeline at the end?')
  wizard.type(ENTER)
  await wizard.says('Continue?')
  wizard.type(ENTER)
  // It tests the cluster with a pod before, which may take two minutes.
  await wizard.says('✓ Register the agent', 180_000)
  wizard.kill9()
  expect(await wizard.ended).not.toBe(0)
  expect(wizard.shown()).toMatch(/rights: all \d+ permissions are granted/)
  const [state = ''] = await readdir(join(folder, 'installations'))
  expect((await stat(join(folder, 'installations', state))).mode & 0o777).toBe(0o600)
  expect(await readFile(join(folder, 'installations', state), 'utf8')).not.toMatch(/[0-9a-f]{24}\.\S{20}/)
  agentId = (await (await client()).agents.get(AGENT)).id

  const other = await windlass(...args, '--yes', '--set-value', 'Storage.FsType=xfs')
  expect(other.code, other.all).toBe(1)
  expect(other.stderr).toContain('started with other settings')

  const again = await succeed(...args, '--yes')
  expect(again.stderr).toContain('✓ Register the agent (already done)')
  expect(again.all).toContain('hello from your Runner')
  token = again.stdout.trim().split('\n').at(-1) ?? ''
  expect(token).toMatch(new RegExp(`^${agentId}\\.`))
  expect(await readdir(join(folder, 'installations'))).toEqual([])
})

test('the new runtime is the default one, as --set-default-runtime says (R031)', async () => {
  const { agents, runtimes } = await client()
  const { items } = await runtimes.list()
  expect(items.filter(({ isDefault }) => isDefault).map(({ name }) => name)).toEqual([RUNTIME])
  await runtimes.delete('by-helm/runtime', { query: { force: true } })
  await agents.delete('by-helm')
})

test('the Runner is healthy, the demo ran, and the server got each step (R011, R014, R017, R024, R040)', async () => {
  const info = await succeed('runner', 'info')
  expect(info.stdout).toMatch(new RegExp(`^NAME +RUNTIMES +STATUS +REPORTED\n${AGENT} +${RUNTIME} +healthy +\\d`))
  expect((await succeed('get', 're', '-o', 'name')).stdout).toBe(`runtime/${RUNTIME}\n`)
  expect((await succeed('get', 'pipelines', '-o', 'name')).stdout).toBe('pipeline/Runner/CF_Runner_Demo\n')
  expect((await succeed('get', 'clusters', '-o', 'json')).stdout).toContain('"behindFirewall": true')
  const installation = (await (await client()).installations.list()).items.find(({ name }) => name === RUNTIME)
  expect(installation?.status).toBe('success')
  // Events sent before the wizard was killed may be sent again.
  const reported = new Set(installation?.events.map(({ event }) => event))
  expect([...reported]).toEqual([
    'acceptance-tests-ran',
    'agent-created',
    'agent-updated',
    'cluster-integration-added',
    'agent-installed',
    'runtime-installed',
    'runner-installed',
    'demo-pipeline-created',
    'demo-pipeline-executed',
    'finished',
  ])
  // Documented by their names (C23).
  for (const object of ['deployment/runner', 'configmap/codefresh-dind-config', 'serviceaccount/codefresh-engine'])
    expect(await cluster.kubectl('--namespace', FIRST, 'get', object, '--output', 'name')).toContain(object.split('/')[1])
})

test('a displayed specification can be changed and applied as a new version (R036, C8, C9)', async () => {
  const shown = await succeed('get', 'runtime-environments', RUNTIME, '-o', 'yaml')
  const spec = parse(shown.stdout)
  expect(spec).toMatchObject({ version: 1, metadata: { name: RUNTIME }, dockerDaemonScheduler: { userAccess: true } })
  spec.dockerDaemonScheduler.userAccess = false
  await writeFile(join(folder, 're.yaml'), JSON.stringify(spec))
  await succeed('patch', 'runtime-environment', '--filename', 're.yaml', '--description', 'no Docker for steps')
  const diff = await windlass('diff', 're', '--first-name', RUNTIME, '--first-version', '1')
  expect(diff).toMatchObject({
    code: 1,
    stdout: '- dockerDaemonScheduler.userAccess: true\n+ dockerDaemonScheduler.userAccess: false\n',
  })
  expect(JSON.parse((await succeed('get', 're', RUNTIME, '--history')).stdout)[0]).toMatchObject({
    version: 2,
    description: 'no Docker for steps',
  })
})

test('a second runtime in a second namespace is attached to the same agent, which serves it at another address without a restart (R038, R046, R140, R141, R143, R146)', async () => {
  const pods = await cluster.kubectl('--namespace', FIRST, 'get', 'pods', '--selector', 'app=runner', '--output', 'name')
  const place = ['--runtime-kube-namespace', SECOND, '--agent-kube-namespace', FIRST, '--agent-name', AGENT]
  // The address of the node, instead of that of the Service.
  const host = `https://${cluster.host}:${new URL(parse(await readFile(cluster.kubeconfig, 'utf8')).clusters[0].cluster.server).port}`
  const address = ['--set-value', `KubernetesHost=${host}`, '--token-lifetime', '3600']
  const installed = await succeed('install', 'runtime', ...place, ...disks('disks-b'), '--attach-runtime', ...address)
  const runtime = `${CONTEXT}/${SECOND}`
  expect(installed.stdout).toBe(`${runtime}\n`)
  const { data } = JSON.parse(await cluster.kubectl('--namespace', FIRST, 'get', 'secret', 'runnerconf', '--output', 'json'))
  expect(new Set(Object.keys(data))).toEqual(new Set([`${CONTEXT}.${FIRST}.runtime.yaml`, `${CONTEXT}.${SECOND}.runtime.yaml`]))
  const attached = parse(Buffer.from(data[`${CONTEXT}.${SECOND}.runtime.yaml`], 'base64').toString())
  expect(attached).toMatchObject({ name: runtime, host })
  expect((await succeed('get', 'agents', AGENT, '-o', 'json')).stdout).toContain(runtime)
  // With the token of one hour the agent may get another one of its own account, and of no other.
  const access = { server: host, ca: attached.crt, token: () => attached.token, insecure: false, namespace: SECOND }
  const kube = openKube({ access, log: silentLog })
  const asks = (name: string): Promise<unknown> => kube.issueToken({ kind: 'ServiceAccount', namespace: SECOND, name }, 600)
  await asks('runner')
  await expect(asks('default')).rejects.toMatchObject({ code: 'cluster-refused', message: expect.stringContaining('forbidden') })
  kube.close()
  await eventually(
    'the agent has read the file',
    async () => {
      const log = await cluster.kubectl('--namespace', FIRST, 'logs', 'deployment/runner', '--container', 'runner')
      return log.split('\n').some((line) => line.includes('"runtime added"') && line.includes(`"${runtime}"`)) ? true : undefined
    },
    180_000,
  )
  const image = images['TOOLS_IMAGE'] ?? ''
  await succeed('runner', 'execute-test-pipeline', '--runtime-name', runtime, '--demo-image', image)
  expect(await cluster.kubectl('--namespace', FIRST, 'get', 'pods', '--selector', 'app=runner', '--output', 'name')).toBe(pods)
})

test('registers a cluster by hand, with the address that pods reach and the token of a service account (R161)', async () => {
  const host = 'https://kubernetes.default.svc.cluster.local'
  const account = ['--namespace', FIRST, '--serviceaccount', 'default', '--behind-firewall']
  const created = await succeed('create', 'cluster', '--name', 'by-hand', ...account, '--set-value', `KubernetesHost=${host}`)
  expect(created.stdout).toBe('cluster/by-hand created\n')
  const { items } = await (await client()).clusters.list()
  expect(items).toContainEqual(expect.objectContaining({ name: 'by-hand', provider: 'local', behindFirewall: true }))
  await succeed('delete', 'cluster', 'by-hand')
})

test('a build runs without a context of the command line: the agent has its own token (R008)', async () => {
  const { builds } = await client()
  const [config, away] = [join(folder, 'config.yaml'), join(folder, 'away.yaml')]
  await rename(config, away)
  try {
    expect((await windlass('get', 'builds')).code).not.toBe(0)
    const { id } = await builds.create({ pipeline: 'Runner/CF_Runner_Demo' })
    const isOver = async (): Promise<string | undefined> => {
      const { status } = await builds.get(id)
      return ['success', 'error', 'terminated'].includes(status) ? status : undefined
    }
    expect(await eventually('the build ends', isOver, 180_000)).toBe('success')
  } finally {
    await rename(away, config)
  }
})

/** Stores another runtime with the settings of the second one. Returns its name. */
async function otherRuntime(): Promise<string> {
  const { runtimes } = await client()
  const { type, spec } = await runtimes.get(`${CONTEXT}/${SECOND}`)
  const name = `${CONTEXT}/other`
  const file = join(folder, 'other.yml')
  await writeFile(file, JSON.stringify({ kind: 'runtime', metadata: { name }, spec: { ...spec, type } }))
  await succeed('apply', '-f', file)
  return name
}

test('a runtime is detached and attached again; other runtimes of the agent stay (R141)', async () => {
  const runtime = `${CONTEXT}/${SECOND}`
  const at = ['--runtime-name', runtime, '--agent-name', AGENT, '--agent-kube-namespace', FIRST]
  const keys = async (): Promise<string[]> => {
    const { data } = JSON.parse(await cluster.kubectl('--namespace', FIRST, 'get', 'secret', 'runnerconf', '--output', 'json'))
    return Object.keys(data).toSorted()
  }
  const both = await keys()
  expect((await succeed('detach', 'runtime', ...at)).stdout).toBe(`Runtime ${runtime} is detached\n`)
  expect((await (await client()).agents.get(AGENT)).runtimes).toEqual([RUNTIME])
  expect(await keys()).toEqual([`${CONTEXT}.${FIRST}.runtime.yaml`])
  const again = await windlass('detach', 'runtime', ...at)
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('is not attached to the agent')])
  const renewals = async (): Promise<number> =>
    (await cluster.kubectl('--namespace', SECOND, 'get', 'roles', '--output', 'name')).split('runner-token').length - 1
  expect(await renewals()).toBe(1)
  // Another runtime of this namespace has a token that does not expire, which needs no right to renew it.
  const name = await otherRuntime()
  const other = ['--runtime-name', name, '--agent-name', AGENT, '--agent-kube-namespace', FIRST]
  await succeed('attach', 'runtime', ...other, '--runtime-kube-namespace', SECOND)
  expect(await renewals()).toBe(1)
  await succeed('detach', 'runtime', ...other)
  await succeed('delete', 're', name)
  await succeed('attach', 'runtime', ...at, '--runtime-kube-namespace', SECOND)
  expect(await keys()).toEqual(both)
  expect(await renewals()).toBe(0)
})

test('the monitor is installed and removed separately (R170)', async () => {
  const at = ['--kube-namespace', FIRST]
  expect((await succeed('install', 'monitor', ...at)).stdout).toBe(`The monitor was installed in ${FIRST}\n`)
  const { monitors } = await client()
  await eventually(
    'the monitor reports what runs in the cluster',
    async () => {
      const known = (await monitors.list()).items.some(({ cluster: name, status }) => name === CONTEXT && status === 'online')
      return known && (await monitors.objects(CONTEXT)).items.length > 0 ? true : undefined
    },
    180_000,
  )
  expect((await succeed('uninstall', 'monitor', ...at)).stdout).toBe('The monitor was removed\n')
  const left = await cluster.kubectl('--namespace', FIRST, 'get', 'deployments', '--output', 'name')
  expect(left).toContain('deployment.apps/runner')
  expect(left).not.toContain('monitor')
})

test('an agent with two runtimes is not deleted; uninstalling a runtime restarts the agent (R142, R145, R208)', async () => {
  const refused = await windlass('runner', 'delete', '--kube-namespace', FIRST, '--yes')
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('serves 2 runtime environments')
  const uid = (): Promise<string> =>
    cluster.kubectl('--namespace', FIRST, 'get', 'pods', '--selector', 'app=runner', '--output', 'name')
  const before = await uid()
  const place = ['--runtime-kube-namespace', SECOND, '--agent-kube-namespace', FIRST]
  await succeed('uninstall', 'runtime', '--name', `${CONTEXT}/${SECOND}`, ...place, '--restart-agent')
  expect(await uid()).not.toBe(before)
  expect((await succeed('get', 're', '-o', 'name')).stdout).toBe(`runtime/${RUNTIME}\n`)
  expect(await cluster.kubectl('--namespace', SECOND, 'get', 'deployments,daemonsets,roles', '--output', 'name')).toBe('')
})

test('the support bundle contains pods, events and logs, and no secret (R210)', async () => {
  await succeed('runner', 'bundle', '--kube-namespace', FIRST)
  const text = gunzipSync(await readFile(join(folder, 'runner-bundle.tar.gz'))).toString('utf8')
  expect(text).toContain(`${FIRST}/pod.yaml`)
  expect(text).toContain('WINDLASS_AGENT_SERVER_URL')
  expect(text).not.toContain(token)
  expect(text).not.toContain(token.split('.')[1])
})

test('an upgrade keeps the agent, its token and manual edits of the runtime', async () => {
  await succeed('runner', 'upgrade', '--kube-namespace', FIRST)
  expect((await (await client()).agents.list()).items[0]?.id).toBe(agentId)
  expect((await succeed('get', 're', RUNTIME, '-o', 'json')).stdout).toContain('"userAccess": false')
  await succeed('runner', 'info')
})

test('delete leaves only the namespace and the pipelines (R206, R207)', async () => {
  const unasked = await windlass('runner', 'delete', '--kube-namespace', FIRST)
  expect(unasked.code).toBe(2)
  const { stderr } = await succeed('runner', 'delete', '--kube-namespace', FIRST, '--force')
  expect(stderr).toContain(`agent ${AGENT} and its token`)
  expect((await (await client()).agents.list()).items).toEqual([])
  expect((await (await client()).runtimes.list()).items).toEqual([])
  expect((await succeed('get', 'pipelines', '-o', 'name')).stdout).toBe('pipeline/Runner/CF_Runner_Demo\n')
  const left = await cluster.kubectl('--namespace', FIRST, 'get', 'deployments,daemonsets,secrets,roles', '--output', 'name')
  expect(left).toBe('')
})

test('the token restores the deleted agent with the same id, and a runtime beside it (R015, R139, R169)', async () => {
  await writeFile(join(folder, 'agent.token'), token, { mode: 0o600 })
  const place = ['--agent-kube-namespace', FIRST, '--install-runtime', ...disks('disks')]
  const { stdout } = await succeed('install', 'agent', '--token-file', 'agent.token', '--name', AGENT, ...place)
  expect(stdout.trim().split('\n').at(-1)).toBe(token)
  const agent = await eventually('the agent is healthy', async () => {
    const [found] = (await (await client()).agents.list()).items
    return found?.status === 'online' ? found : undefined
  })
  expect(agent).toMatchObject({ id: agentId, runtimes: [RUNTIME] })
  expect(await (await client()).runtimes.get(RUNTIME)).toMatchObject({ agent: AGENT })
  await succeed('uninstall', 'agent', '--name', AGENT, '--kube-namespace', FIRST)
  expect((await (await client()).agents.list()).items).toEqual([])
})

test('a Runner of version 0.x is replaced with the settings of its pods (R222)', async () => {
  const metadata = { name: 'venona', namespace: OLD }
  const variables = [
    { name: 'AGENT_ID', value: 'old' },
    { name: 'TEAM', value: 'blue' },
  ]
  const pod = {
    containers: [{ name: 'venona', image: images['WINDLASS_IMAGE'], env: variables }],
    tolerations: [
      { key: 'runner', operator: 'Exists' },
      { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
    ],
  }
  const labels = { app: 'venona' }
  const template = { metadata: { labels }, spec: pod }
  await cluster.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: OLD } },
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { 'codefresh.token': 'old' } },
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 0, selector: { matchLabels: labels }, template } },
  )
  const runtime = {
    runtimeScheduler: { cluster: { namespace: OLD } },
    dockerDaemonScheduler: { pvcs: { dind: { storageClassName: `dind-local-volumes-venona-${OLD}` } } },
  }
  await writeFile(
    join(folder, 'old.yml'),
    JSON.stringify({ kind: 'runtime', metadata: { name: 'old' }, spec: { type: 'kubernetes', ...runtime } }),
  )
  await succeed('apply', '-f', 'old.yml')
  await succeed('runner', 'upgrade', '--kube-namespace', OLD, '--runtime-name', 'old', '--yes')
  expect(JSON.parse(await readFile(join(folder, 'migration.json'), 'utf8'))).toEqual({
    tolerations: [{ key: 'runner', operator: 'Exists' }],
    nodeSelector: {},
    env: { TEAM: 'blue' },
  })
  expect((await succeed('get', 're', 'old', '-o', 'json')).stdout).toContain(`dind-local-volumes-runner-${OLD}`)
  const deployment = JSON.parse(await cluster.kubectl('--namespace', OLD, 'get', 'deployment', 'runner', '--output', 'json'))
  expect(deployment.spec.template.spec.tolerations).toEqual([{ key: 'runner', operator: 'Exists' }])
  expect(await cluster.kubectl('--namespace', OLD, 'get', 'deployment', 'venona', '--ignore-not-found', '--output', 'name')).toBe(
    '',
  )
})

test('the old installer upgrades the Runner of a runtime, shows it in its tables and deletes it (R213, R214, R215)', async () => {
  const [agent] = (await (await client()).agents.list()).items
  const revision = async (): Promise<number> =>
    JSON.parse(await runProgram(env['WINDLASS_HELM'] ?? '', ['list', '--namespace', OLD, '--output', 'json'], { env }))[0]
      .revision
  const before = Number(await revision())
  await succeed('venona', 'upgrade', 'old')
  expect(Number(await revision())).toBe(before + 1)
  expect((await (await client()).agents.list()).items).toMatchObject([{ id: agent?.id, runtimes: ['old'] }])
  const status = await succeed('venona', 'status', 'old')
  expect(status.stdout).toMatch(/^RUNTIME NAME +LAST MESSAGE +REPORTED\nold /)
  expect(status.stdout).toMatch(/Deployment +runner +1\/1 ready/)
  const missing = await windlass('venona', 'delete', 'nothing', 'old')
  expect(missing.code).toBe(1)
  expect(missing.stdout).toBe('Deleted old\n')
  expect((await (await client()).agents.list()).items).toEqual([])
})

test('a Runner that the Codefresh CLI installed continues in the chart with its id and token (R223)', async () => {
  const { agents, runtimes } = await client()
  const runtime = `${CONTEXT}/${OLD}`
  await runtimes.put(runtime, { name: runtime, type: 'kubernetes', spec: { description: 'edited by hand' } })
  const agent = await agents.create({ name: 'moved', runtimes: [runtime] })
  const metadata = { name: 'runner', namespace: OLD, labels: { app: 'runner' } }
  const variables = { AGENT_ID: agent.id, AGENT_NAME: 'moved', CODEFRESH_HOST: url, TEAM: 'blue' }
  const container = {
    name: 'runner',
    image: images['WINDLASS_IMAGE'],
    env: Object.entries(variables).map(([name, value]) => ({ name, value })),
  }
  const selector = { matchLabels: { app: 'runner' } }
  const template = { metadata: { labels: { app: 'runner' } }, spec: { containers: [container] } }
  await cluster.apply(
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { 'codefresh.token': agent.token } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'runnerconf', namespace: OLD },
      stringData: { 'old.runtime.yaml': JSON.stringify({ type: 'runtime', name: runtime, inCluster: true }) },
    },
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 0, selector, template } },
  )
  const { stdout } = await succeed('runner', 'to-helm', '--kube-namespace', OLD, '--remove-old', '--file', 'moved.json')
  expect(stdout).toBe('moved.json\n')
  expect(await cluster.kubectl('--namespace', OLD, 'get', 'deployments', '--output', 'name')).toBe('')
  const chart = ['windlass-runtime', join(root, 'charts/windlass-runtime'), '--values', join(folder, 'moved.json')]
  const own = ['--set', 'volumeProvisioner.enabled=false', '--set', 'runtime.gencerts.enabled=false']
  await runProgram(env['WINDLASS_HELM'] ?? '', ['install', '--namespace', OLD, ...chart, ...own], { env })
  const online = await eventually(
    'the moved agent is healthy',
    async () => {
      const found = await agents.get('moved')
      return found.status === 'online' ? found : undefined
    },
    180_000,
  )
  expect(online).toMatchObject({ id: agent.id, runtimes: [runtime] })
  expect(await runtimes.get(runtime)).toMatchObject({ version: 1, spec: { description: 'edited by hand' } })
})
