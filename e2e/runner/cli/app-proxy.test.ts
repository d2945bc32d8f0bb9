/**
 * The app-proxy of a Runner from the command line, on the real cluster: installed with the Runner and later, reached by HTTPS through a real ingress controller, upgraded,
 * removed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { openClient, type ApiClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { appProxyNameOf } from '../../../packages/cli/src/runner/app-proxy/address.ts'
import { proxyAddressOf } from '../../../packages/cli/src/runner/app-proxy/runtime-address.ts'
import { type Cluster, startCluster } from '../../support/cluster.ts'
import { codeFileOf } from '../../support/first-admin.ts'
import { eventually } from '../../support/eventually.ts'
import { ensureImages } from '../../support/images.ts'
import { startIngressController, type CallInput, type IngressController } from '../../support/ingress-controller.ts'
import { startPodServer } from '../../support/pod-server.ts'
import { runProgram, type Service } from '../../support/process.ts'
import { WINDLASS } from '../../support/programs.ts'
import { FILE, GIT_TOKEN, REPOSITORY, startSmallForge } from './small-forge.ts'
import { openTerminal } from './terminal.ts'

const root = join(import.meta.dirname, '../../..')
const NAMESPACE = `cli-proxy-${process.pid}`
/** Of a release without the command line. */
const PLAIN = `cli-proxy-${process.pid}-b`
const CONTEXT = `node-${process.pid}`
const RUNTIME = `${CONTEXT}/${NAMESPACE}`
const HOST = 'proxy.example.com'
/** Helm alone may wait 300 s. Shorter than the limit of a test, so that the output of a command that hangs is shown. Milliseconds. */
const COMMAND_MS = 540_000

let cluster: Cluster
let controller: IngressController | undefined
let server: Service
let folder = ''
let url = ''
let env: NodeJS.ProcessEnv = {}
let client: ApiClient
let key = ''
/** Values with the image of this run. */
let image: object = {}

type Finished = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
async function windlass(...args: string[]): Promise<Finished> {
  const child = spawn(WINDLASS, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: COMMAND_MS })
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)]
  const [code] = await once(child, 'close')
  return { code: typeof code === 'number' ? code : null, stdout: await stdout, stderr: await stderr }
}

async function succeed(...args: string[]): Promise<Finished> {
  const finished = await windlass(...args)
  if (finished.code !== 0)
    throw new Error(`${finished.stdout}${finished.stderr}\n${await kubectl('get', 'pods', '--output', 'wide')}\n${await logs()}`)
  return finished
}
const kubectl = (...args: string[]): Promise<string> => cluster.kubectl('--namespace', NAMESPACE, ...args)
const logs = (): Promise<string> => kubectl('logs', '--selector', 'app=app-proxy', '--all-containers', '--prefix').catch(String)
const addressOf = async (): Promise<unknown> => proxyAddressOf((await client.runtimes.get(RUNTIME)).spec)

beforeAll(async () => {
  const images = await ensureImages('shell', 'debian', 'node', 'tools', 'windlass')
  cluster = await startCluster()
  const reference = images['WINDLASS_IMAGE'] ?? ''
  await cluster.load(reference)
  const colon = reference.lastIndexOf(':')
  image = { repository: reference.slice(0, colon), tag: reference.slice(colon + 1) }
  const helm = /HELM=(\S+)/.exec(await runProgram(join(root, 'scripts/helm/build'), []))?.[1] ?? ''
  folder = await mkdtemp(join(tmpdir(), `${NAMESPACE}-`))
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
  key = String(parse(await readFile(join(folder, 'config.yaml'), 'utf8')).contexts[0].apiKey)
  client = openClient({ url, token: key, transport: nodeTransport() })
  controller = await startIngressController(cluster, {
    namespace: `${NAMESPACE}-edge`,
    ingresses: NAMESPACE,
    routes: [PLAIN],
    classes: ['nginx', 'internal'],
    hosts: [HOST],
  })
})

afterAll(async () => {
  await runProgram(
    env['WINDLASS_HELM'] ?? '',
    ['uninstall', 'windlass-runtime', '--namespace', NAMESPACE, '--ignore-not-found'],
    {
      env,
    },
  ).catch(() => '')
  await runProgram(env['WINDLASS_HELM'] ?? '', ['uninstall', 'windlass', '--namespace', PLAIN, '--ignore-not-found'], {
    env,
  }).catch(() => '')
  await cluster?.kubectl('delete', 'namespace', NAMESPACE, PLAIN, '--ignore-not-found', '--timeout=90s')
  await controller?.[Symbol.asyncDispose]()
  await server?.stop('SIGKILL')
  if (folder !== '') await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

const SKIPS = [
  '--skip-cluster-test',
  '--skip-cluster-integration',
  '--exec-demo-pipeline',
  'false',
  '--storage-class-name',
  'none',
]
const PLACE = ['--kube-namespace', NAMESPACE]
const PROXY = ['--app-proxy', '--app-proxy-host', HOST, '--app-proxy-ingress-class', 'nginx']

const Ingress = z.object({
  spec: z.object({
    ingressClassName: z.string().optional(),
    tls: z.array(z.object({ hosts: z.array(z.string()), secretName: z.string() })).optional(),
    rules: z.tuple([
      z.object({
        host: z.string(),
        http: z.object({
          paths: z.tuple([z.object({ path: z.string(), backend: z.object({ service: z.object({ name: z.string() }) }) })]),
        }),
      }),
    ]),
  }),
})
async function ingress() {
  return Ingress.parse(JSON.parse(await kubectl('get', 'ingress', 'app-proxy', '--output', 'json'))).spec
}

/** Calls the app-proxy as a browser does: by HTTPS, through the ingress controller. */
async function browse(path: string, { headers, ...input }: CallInput = {}): Promise<{ status: number; body: unknown }> {
  if (controller === undefined) throw new Error('there is no ingress controller')
  const answer = await controller.call(HOST, path, { ...input, headers: { 'x-access-token': key, ...headers } })
  const { status } = answer
  return { status, body: answer.headers['content-type']?.includes('json') === true ? JSON.parse(answer.text) : answer.text }
}

/** Waits until the controller leads there. */
async function reached(path: string): Promise<void> {
  await eventually(`${path} is reached`, async () =>
    (await browse(path).catch(() => undefined))?.status === 200 ? true : undefined,
  )
}

test('a host without TLS, a missing host and a port are refused before anything is changed (R131)', async () => {
  const refused = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await windlass('runner', 'init', '--yes', ...PLACE, ...SKIPS, ...args)
    expect(code).toBe(2)
    return stderr
  }
  expect(await refused('--app-proxy', '--app-proxy-host', `http://${HOST}`)).toContain('by HTTPS only')
  expect(await refused('--app-proxy')).toContain('The app-proxy has no host')
  expect(await refused('--app-proxy-host', `${HOST}:8080`)).toContain('is not a host name')
  expect((await client.agents.list()).items).toEqual([])
})

test('the manifests of a dry run have the Ingress with host and class (R030)', async () => {
  await succeed('runner', 'init', '--dry-run', ...PLACE, ...PROXY)
  const files = await readdir(join(folder, 'codefresh_manifests'))
  expect(files).toEqual(
    expect.arrayContaining(['deployment.app-proxy.yaml', 'ingress.app-proxy.yaml', 'secret.app-proxy-token.yaml']),
  )
  const file = await readFile(join(folder, 'codefresh_manifests/ingress.app-proxy.yaml'), 'utf8')
  expect(Ingress.parse(parse(file)).spec).toMatchObject({ ingressClassName: 'nginx', rules: [{ host: HOST }] })
})

test('runner init installs it with the Runner, and users reach it by HTTPS with their key (R030, R131)', async () => {
  const done = await succeed('runner', 'init', '--yes', ...PLACE, ...SKIPS, ...PROXY)
  expect(done.stderr).toContain(`App-proxy              https://${HOST}/app-proxy`)
  expect(done.stderr).toContain('✓ Register the app-proxy')
  const { items } = await client.installations.list()
  expect(items[0]?.events.map(({ event }) => event)).toContain('app-proxy-installed')
  expect(await addressOf()).toBe(`https://${HOST}/app-proxy`)
  expect(await ingress()).toMatchObject({
    ingressClassName: 'nginx',
    rules: [{ host: HOST, http: { paths: [{ path: '/app-proxy' }] } }],
  })
  await kubectl('rollout', 'status', 'deployment/app-proxy', '--timeout=180s')
  await reached('/app-proxy/api/healthz')
  expect(await browse('/app-proxy/api/git-integrations')).toEqual({ status: 200, body: { items: [] } })
  expect(await browse('/app-proxy/api/git-integrations', { scheme: 'http' })).toMatchObject({
    status: 403,
    body: { code: 'https-required' },
  })
  // The key of the admin is not in the cluster.
  expect(await kubectl('get', 'secrets', '--output', 'yaml')).not.toContain(Buffer.from(key).toString('base64'))
})

test('pages list repositories and branches of a forge behind the firewall and read files, through a real ingress controller (R135)', async () => {
  await using forge = await startSmallForge(cluster.host)
  const at = '/app-proxy/api/git-integrations/work'
  const put = async (path: string, body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json' }
    return (await browse(path, { method: 'PUT', headers, body: JSON.stringify(body) })).status
  }
  expect(await put(at, { provider: 'gitea', url: forge.url })).toBe(200)
  expect(await put(`${at}/token`, { token: GIT_TOKEN })).toBe(200)
  expect(await browse(`${at}/repositories`)).toMatchObject({ body: { items: [{ fullName: REPOSITORY, isPrivate: true }] } })
  expect(await browse(`${at}/branches?repo=${REPOSITORY}`)).toMatchObject({ body: { items: [{ name: 'main' }] } })
  expect(await browse(`${at}/file?repo=${REPOSITORY}&path=${FILE}`)).toMatchObject({ body: { content: 'image: a\n' } })
  expect((await browse(at, { method: 'DELETE' })).status).toBe(204)
})

test('uninstall asks, then removes it and its address; the Runner stays (R128)', async () => {
  const terminal = openTerminal(WINDLASS, ['uninstall', 'app-proxy', ...PLACE], { env, cwd: folder })
  await terminal.says('Delete all of this?')
  terminal.type('\r')
  expect(await terminal.ended).toBe(2)
  expect(await addressOf()).toBe(`https://${HOST}/app-proxy`)
  expect((await succeed('uninstall', 'app-proxy', '--force', ...PLACE)).stdout).toBe(
    `The app-proxy in ${NAMESPACE} was removed\n`,
  )
  expect(await addressOf()).toBeUndefined()
  const left = await kubectl('get', 'deployments,ingresses,services,secrets', '--output', 'name')
  expect(left).toContain('deployment.apps/runner')
  expect(left).not.toContain('app-proxy')
  expect((await client.tunnels.list()).items.map(({ runtime }) => runtime)).not.toContain(appProxyNameOf(RUNTIME))
})

test('install adds it to the Runner, with host and address in the runtime environment (R127)', async () => {
  const done = await succeed('install', 'app-proxy', `--host=${HOST}`, ...PLACE)
  expect(done.stdout).toBe(`The app-proxy was installed in ${NAMESPACE} at https://${HOST}/app-proxy\n`)
  // The host does not exist here.
  expect(done.stderr).toContain(`https://${HOST}/app-proxy does not answer on this machine`)
  expect(await addressOf()).toBe(`https://${HOST}/app-proxy`)
  expect((await ingress()).ingressClassName).toBeUndefined()
})

test('values change path, certificate and class; an upgrade keeps them, and the token (R128, R129, R130)', async () => {
  const token = await kubectl('get', 'secret', 'app-proxy-token', '--output', 'jsonpath={.data}')
  await controller?.addCertificate(NAMESPACE, 'proxy-tls')
  const values = join(folder, 'values.yaml')
  const Ingress = { Host: HOST, IngressClass: 'internal', TLSSecret: 'proxy-tls', PathPrefix: '/tools/git' }
  await writeFile(values, JSON.stringify({ AppProxy: { Ingress } }))
  await succeed('install', 'app-proxy', '--values', values, ...PLACE)
  const changed = {
    ingressClassName: 'internal',
    tls: [{ hosts: [HOST], secretName: 'proxy-tls' }],
    rules: [{ host: HOST, http: { paths: [{ path: '/tools/git' }] } }],
  }
  expect(await ingress()).toMatchObject(changed)
  expect(await addressOf()).toBe(`https://${HOST}/tools/git`)
  const upgraded = await succeed('upgrade', 'app-proxy', ...PLACE)
  expect(upgraded.stdout).toBe(`The app-proxy was upgraded in ${NAMESPACE} at https://${HOST}/tools/git\n`)
  expect(await ingress()).toMatchObject(changed)
  expect(await kubectl('get', 'secret', 'app-proxy-token', '--output', 'jsonpath={.data}')).toBe(token)
  await kubectl('rollout', 'status', 'deployment/app-proxy', '--timeout=180s')
  await reached('/tools/git/api/healthz')
  expect(await browse('/tools/git/api/git-integrations')).toEqual({ status: 200, body: { items: [] } })
  expect((await browse('/app-proxy/api/git-integrations')).status).toBe(404)
})

test('runner delete removes it with the Runner', async () => {
  await succeed('runner', 'delete', '--yes', ...PLACE)
  expect((await client.tunnels.list()).items).toEqual([])
  expect(await kubectl('get', 'secrets', '--output', 'name')).not.toContain('app-proxy')
  const upgrade = await windlass('upgrade', 'app-proxy', ...PLACE)
  expect([upgrade.code, upgrade.stderr]).toEqual([3, expect.stringContaining('has no app-proxy of a Runner')])
})

test('a release of plain Helm registers its app-proxy with the API key, is reached through a Gateway, keeps the token, and is removed', async () => {
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: PLAIN } })
  await cluster.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key', namespace: PLAIN }, stringData: { key } })
  const off = { enabled: false }
  const values = {
    global: { codefreshHost: url, codefreshTokenSecretKeyRef: { name: 'key', key: 'key' }, context: CONTEXT },
    image,
    runner: off,
    volumeProvisioner: off,
    runtime: { patch: off, gencerts: off },
    appProxy: { enabled: true, httpRoute: { enabled: true, parentRefs: [controller?.listener], hostnames: [HOST] } },
  }
  const file = join(folder, 'plain.yaml')
  await writeFile(file, JSON.stringify(values))
  const at = ['windlass', '--namespace', PLAIN]
  const helm = (...args: string[]): Promise<string> => runProgram(env['WINDLASS_HELM'] ?? '', args, { env })
  await helm('install', ...at, join(root, 'charts/windlass-runtime'), '--values', file, '--wait', '--timeout', '300s')
  const tokenOf = (): Promise<string> =>
    cluster.kubectl('--namespace', PLAIN, 'get', 'secret', 'windlass-app-proxy-token', '--output', 'jsonpath={.data}')
  const token = await tokenOf()
  const name = appProxyNameOf(`${CONTEXT}/${PLAIN}`)
  expect((await client.gitopsRuntimes.tokens(name)).items).toHaveLength(1)
  await cluster.kubectl('--namespace', PLAIN, 'rollout', 'restart', 'deployment/windlass-app-proxy')
  await cluster.kubectl('--namespace', PLAIN, 'rollout', 'status', 'deployment/windlass-app-proxy', '--timeout=180s')
  expect(await tokenOf()).toBe(token)
  expect((await client.gitopsRuntimes.tokens(name)).items).toHaveLength(1)
  await reached('/app-proxy/api/healthz')
  expect(await browse('/app-proxy/api/git-integrations')).toEqual({ status: 200, body: { items: [] } })
  await helm('uninstall', ...at, '--wait', '--timeout', '180s')
  expect((await client.tunnels.list()).items).toEqual([])
  expect(await cluster.kubectl('--namespace', PLAIN, 'get', 'secrets', '--output', 'name')).toBe('secret/key')
})
