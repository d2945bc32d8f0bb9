/** Both charts on a real Kubernetes: install from a registry, build, upgrade during a build, rotate, compare, uninstall. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openClient, type ApiClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { VERSION } from '../../../packages/plan/src/version.ts'
import { issueCertificates } from '../../../packages/manifests/src/index.ts'
import { type Cluster, startCluster } from '../../support/cluster.ts'
import { type Helm, openHelm } from '../../support/helm.ts'
import { ensureImages } from '../../support/images.ts'
import { eventually, isOk } from '../../support/installation.ts'
import { WINDLASS } from '../../support/programs.ts'
import { type Registry, startRegistry } from '../../support/registry.ts'

const root = join(import.meta.dirname, '../../..')
const NAMESPACE = `helm-${process.pid}`
const CONTEXT = `one-node-${process.pid}`
const RUNTIME = `${CONTEXT}/${NAMESPACE}`
const AGENT = `${CONTEXT}_${NAMESPACE}`
/** The cluster has no DNS: the Service gets an address that is known before. */
const ADDRESS = `10.96.${128 + (process.pid % 100)}.${1 + (Math.floor(process.pid / 100) % 250)}`
const URL = `http://${ADDRESS}:8080`

let cluster: Cluster
let helm: Helm
let registry: Registry
let folder = ''
let apiKey = ''
let images: Record<string, string> = {}

const kubectl = (...args: string[]): Promise<string> => cluster.kubectl('--namespace', NAMESPACE, ...args)
const charts = (name: string): string[] => [`oci://${registry.domain}/charts/${name}`, '--version', VERSION, '--plain-http']
const install = (release: string, chart: string, values: object): Promise<string> =>
  upgrade(release, chart, values).catch(async (error: unknown) => {
    const pods = await kubectl('get', 'pods', '--output', 'wide')
    throw new Error(`${String(error)}\n${pods}\n${await initLogs()}`, { cause: error })
  })
/** The network rules of the Service are written shortly after the pod is ready. */
const serverAnswers = (): Promise<true> =>
  eventually('the server answers', async () => ((await isOk(`${URL}/readyz`)) ? true : undefined))
const initLogs = (): Promise<string> =>
  kubectl('logs', '--selector', 'app=runner', '--all-containers', '--prefix').catch((error: unknown) => String(error))
const upgrade = async (release: string, chart: string, values: object): Promise<string> => {
  const file = await helm.values(values)
  const where = ['--namespace', NAMESPACE, '--values', file, '--wait', '--timeout', '300s']
  return helm.run('upgrade', '--install', release, ...charts(chart), ...where)
}

beforeAll(async () => {
  images = await ensureImages('shell', 'debian', 'node', 'tools', 'dind', 'windlass')
  cluster = await startCluster()
  await cluster.load(images['DIND_IMAGE'] ?? '', images['WINDLASS_IMAGE'] ?? '')
  helm = await openHelm(cluster.kubeconfig)
  registry = await startRegistry()
  folder = await mkdtemp(join(tmpdir(), `${NAMESPACE}-`))
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }, ...(await serverDisk()))
  for (const chart of ['windlass', 'windlass-runtime']) {
    await helm.run('package', join(root, 'charts', chart), '--destination', folder)
    await helm.run('push', join(folder, `${chart}-${VERSION}.tgz`), `oci://${registry.domain}/charts`, '--plain-http')
  }
})

afterAll(async () => {
  await helm?.run('uninstall', 'runner', '--namespace', NAMESPACE, '--no-hooks', '--ignore-not-found').catch(() => '')
  await helm?.run('uninstall', 'windlass', '--namespace', NAMESPACE, '--ignore-not-found').catch(() => '')
  await cluster?.kubectl('delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=90s')
  await cluster?.kubectl('delete', 'persistentvolumes', '--selector', `pod_namespace=${NAMESPACE}`)
  await cluster?.kubectl('delete', 'persistentvolume', NAMESPACE, '--ignore-not-found')
  await registry?.close()
  await helm?.close()
  if (folder !== '') await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

/** Returns a volume for the server in a folder of this machine, because the cluster has no storage class for it. */
async function serverDisk(): Promise<object[]> {
  const path = join(folder, 'server')
  await mkdir(path)
  await chown(path, 10_001, 10_001)
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: NAMESPACE }
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: NAMESPACE },
      spec: { ...spec, capacity: { storage: '1Gi' }, persistentVolumeReclaimPolicy: 'Retain', hostPath: { path } },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'server', namespace: NAMESPACE },
      spec: { ...spec, volumeName: NAMESPACE, resources: { requests: { storage: '1Gi' } } },
    },
  ]
}

const serverValues = (): object => ({
  url: URL,
  service: { port: 8080, clusterIP: ADDRESS },
  persistence: { existingClaim: 'server' },
  settings: { MIN_FREE_PERCENT: 1 },
})
const runtimeValues = (more: object = {}): object => ({
  global: { codefreshHost: URL, codefreshTokenSecretKeyRef: { name: 'api-key', key: 'key' }, context: CONTEXT },
  runtime: { isDefault: true, patch: { cronjob: { enabled: true, schedule: '0 0 1 1 *' } } },
  storage: { local: { volumeParentDir: join(folder, 'disks') } },
  // The disk of this machine may be full.
  volumeProvisioner: { 'dind-lv-monitor': { env: { KB_USAGE_THRESHOLD: 100, INODE_USAGE_THRESHOLD: 100 } } },
  ...more,
})

type Finished = { readonly code: number; readonly stdout: string; readonly stderr: string }
async function windlass(...args: string[]): Promise<Finished> {
  const env = { ...process.env, WINDLASS_CONFIG: join(folder, 'config.yaml'), NO_COLOR: '1' }
  const child = spawn(WINDLASS, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 200_000 })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')))
  await once(child, 'close')
  return { code: child.exitCode ?? -1, stdout, stderr }
}

/** Returns a client with the key of the first admin, once there is one. */
function client(): ApiClient {
  return openClient({ url: URL, token: apiKey, transport: nodeTransport() })
}

/** Starts a build of one step and returns its id. */
async function startBuild(commands: readonly string[]): Promise<string> {
  const file = join(folder, 'pipeline.yml')
  const step = { image: images['TOOLS_IMAGE'], commands }
  await writeFile(file, JSON.stringify({ version: '1.0', steps: { only: step } }))
  const { code, stdout, stderr } = await windlass('run', '-f', file, '--detach')
  expect(code, stderr).toBe(0)
  return stdout.trim()
}

const secretData = async (name: string): Promise<Record<string, string>> =>
  z.object({ data: z.record(z.string(), z.string()) }).parse(JSON.parse(await kubectl('get', 'secret', name, '--output', 'json')))
    .data

/** Runs the Job of a CronJob now and returns its result and log. */
async function runCronJob(name: string, as: string): Promise<{ succeeded: boolean; log: string }> {
  await kubectl('create', 'job', as, `--from=cronjob/${name}`)
  const status = await eventually(
    `the job ${as} ends`,
    async () => {
      const counts = z
        .object({ status: z.object({ succeeded: z.int().optional(), failed: z.int().optional() }) })
        .parse(JSON.parse(await kubectl('get', 'job', as, '--output', 'json'))).status
      return counts.succeeded !== undefined || counts.failed !== undefined ? counts : undefined
    },
    180_000,
  )
  const log = await kubectl('logs', `job/${as}`)
  await kubectl('delete', 'job', as)
  return { succeeded: status.succeeded !== undefined, log }
}

/** Returns the first admin's key. */
async function firstAdmin(): Promise<string> {
  const { code = '' } = await secretData('windlass-bootstrap')
  const codeFile = join(folder, 'bootstrap.code')
  await writeFile(codeFile, Buffer.from(code, 'base64'))
  const login = await windlass('auth', 'login', '--url', URL, '--first-admin', '--code-file', codeFile)
  expect(login.code, login.stderr).toBe(0)
  const config = z
    .object({ contexts: z.array(z.object({ apiKey: z.string() })) })
    .parse(parse(await readFile(join(folder, 'config.yaml'), 'utf8')))
  return config.contexts[0]?.apiKey ?? ''
}

test('both charts install from a registry; the agent registers itself and its runtime with an API key (R044, R048)', async () => {
  await install('windlass', 'windlass', serverValues())
  await serverAnswers()
  apiKey ||= await firstAdmin()
  const data = { key: Buffer.from(apiKey).toString('base64') }
  await cluster.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'api-key', namespace: NAMESPACE }, data })

  await install('runner', 'windlass-runtime', runtimeValues())
  await eventually(
    'the agent is connected',
    async () => {
      const { status } = await client().agents.get(AGENT)
      return status === 'online' ? true : undefined
    },
    180_000,
  )
  const runtime = await client().runtimes.get(RUNTIME)
  expect(runtime).toMatchObject({ name: RUNTIME, agent: AGENT, isDefault: true, agentOnline: true })
  // The hook ran after the registration and had nothing to change.
  expect(runtime).toMatchObject({ version: 1 })
  expect(await helm.run('test', 'windlass', '--namespace', NAMESPACE)).toContain('Succeeded')
  expect(await helm.run('test', 'runner', '--namespace', NAMESPACE)).toContain('Succeeded')
})

test('the hook creates the certificate of the Docker daemons, and the CronJob replaces an expired one (R049)', async () => {
  const made = await secretData('codefresh-certs-server')
  expect(Object.keys(made).toSorted()).toEqual(['ca.pem', 'server-cert.pem', 'server-key.pem'])
  const kept = await runCronJob('runner-dind-gencerts', 'keep')
  expect(kept, kept.log).toMatchObject({ succeeded: true, log: expect.stringContaining('valid until') })
  expect(await secretData('codefresh-certs-server')).toEqual(made)

  const expired = issueCertificates({ now: Date.now() - 10 * 86_400_000, validMs: 86_400_000 })
  const pem = Buffer.from(expired.serverCert).toString('base64')
  await kubectl('patch', 'secret', 'codefresh-certs-server', '--patch', JSON.stringify({ data: { 'server-cert.pem': pem } }))
  const renewed = await runCronJob('runner-dind-gencerts', 'renew')
  expect(renewed, renewed.log).toMatchObject({ succeeded: true, log: expect.stringContaining('expired') })
  const after = await secretData('codefresh-certs-server')
  expect(after['server-cert.pem']).not.toBe(pem)
  expect(after['server-key.pem']).not.toBe(made['server-key.pem'])
})

test('a build continues while both releases are upgraded; tokens and keys are kept', async () => {
  const tokens = [await secretData('runner-runner'), await secretData('windlass-master-key')].map((data) => JSON.stringify(data))
  const id = await startBuild(['echo begun', 'sleep 25', 'echo "still here"'])
  const status = async (): Promise<string> => (await client().builds.get(id)).status
  await eventually('the build runs', async () => ((await status()) === 'running' ? true : undefined), 240_000)
  await install('runner', 'windlass-runtime', runtimeValues({ runner: { podAnnotations: { turn: '2' } } }))
  await install('windlass', 'windlass', { ...serverValues(), podAnnotations: { turn: '2' } })
  await serverAnswers()
  const isOver = async (): Promise<string | undefined> => {
    const now = await status()
    return ['success', 'error', 'terminated'].includes(now) ? now : undefined
  }
  const end = await eventually('the build ends', isOver, 240_000).catch(async (error: unknown) => {
    const { stdout } = await windlass('describe', 'build', id)
    const engine = await kubectl('logs', `engine-${id}`, '--tail=40').catch(String)
    throw new Error(`${stdout}\n${await kubectl('get', 'pods', '--output', 'wide')}\n${engine}`, { cause: error })
  })
  const log = await windlass('logs', id)
  expect(end, `${log.stdout}\n${log.stderr}`).toBe('success')
  expect(log.stdout + log.stderr).toContain('still here')
  expect(
    [await secretData('runner-runner'), await secretData('windlass-master-key')].map((data) => JSON.stringify(data)),
  ).toEqual(tokens)
})

test('the agent reports the disk of the build with its use, and why it was made (W080)', async () => {
  const disk = await eventually(
    'the disk is listed',
    async () => (await client().disks.list()).items.find(({ state, build }) => state === 'warm' && build !== undefined),
    180_000,
  )
  const { code, stdout, stderr } = await windlass('get', 'disks', '--runtime', RUNTIME)
  expect(code, stderr).toBe(0)
  expect(stdout).toMatch(new RegExp(`^${disk.name} +warm .*#${disk.build?.number} .*No disk of this class exists yet\\.`, 'm'))
})

test('the CronJob reports an edit on the server, and the next upgrade overwrites it (R047, R050)', async () => {
  const { runtimes } = client()
  const { name, agent, spec } = await runtimes.get(RUNTIME)
  await runtimes.put(RUNTIME, { name, agent, spec: { ...spec, description: 'edited by hand' } })
  const report = await runCronJob('runner-runtime-patch', 'report')
  expect(report.succeeded).toBe(false)
  expect(report.log).toContain('edited by hand')
  // If the patch is off, an upgrade of the runner keeps manual edits of the runtime.
  const off = { runtime: { isDefault: true, patch: { enabled: false } } }
  await install('runner', 'windlass-runtime', runtimeValues({ ...off, runner: { podAnnotations: { turn: '3' } } }))
  expect(await runtimes.get(RUNTIME)).toMatchObject({ spec: { description: 'edited by hand' } })
  await install('runner', 'windlass-runtime', runtimeValues())
  expect(await runtimes.get(RUNTIME)).not.toMatchObject({ spec: { description: 'edited by hand' } })
})

test('an uninstall removes agent and runtime from the server, and their Secrets from the cluster (R051)', async () => {
  await helm.run('uninstall', 'runner', '--namespace', NAMESPACE, '--wait', '--timeout', '300s')
  await expect(client().runtimes.get(RUNTIME)).rejects.toMatchObject({ code: 'not-found' })
  await expect(client().agents.get(AGENT)).rejects.toMatchObject({ code: 'not-found' })
  const left = await kubectl('get', 'secrets', '--output', 'name')
  expect(left).not.toContain('codefresh-certs-server')
  expect(left.split('\n')).not.toContain('secret/runner-runner')
})
