/** One release of the chart windlass-runtime that runs builds and jobs of GitLab, with a real server, on a real Kubernetes. */
import { rmSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GitlabJob } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openHttpScene, type HttpScene } from '../../packages/server/test/support/http-scene.ts'
import { openHelm, type Helm } from '../support/helm.ts'
import { ensureImages } from '../support/images.ts'
import { eventually } from '../support/installation.ts'
import { runProgram } from '../support/process.ts'
import { WINDLASS } from '../support/programs.ts'
import { TOKEN } from './support/coordinator-pair.ts'
import type { FakeJob } from './support/fake-coordinator.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'
import { touchInJob } from './support/touch-in-job.ts'

const NAMESPACE = `one-${process.pid}`
const JOBS = `one-jobs-${process.pid}`
const CONTEXT = `one-node-${process.pid}`
const RUNTIME = `${CONTEXT}/${NAMESPACE}`
const AGENT = `${CONTEXT}_${NAMESPACE}`
const CHART = join(import.meta.dirname, '../../charts/windlass-runtime')

let scene: RunnerScene
let server: HttpScene
let helm: Helm
let folder = ''
let images: Record<string, string> = {}

beforeAll(async () => {
  images = await ensureImages('shell', 'debian', 'node', 'tools', 'dind', 'gitlab-helper', 'windlass')
  // Its namespace is that of the jobs. Its account and Role are not used.
  scene = await openRunnerScene(JOBS)
  const { cluster } = scene
  await cluster.load(images['DIND_IMAGE'] ?? '', images['WINDLASS_IMAGE'] ?? '')
  server = await openHttpScene({ host: cluster.host })
  helm = await openHelm(cluster.kubeconfig)
  folder = await mkdtemp(join(tmpdir(), `${NAMESPACE}-`))
  await chmod(folder, 0o755)
  const metadata = { name: 'api-key', namespace: NAMESPACE }
  await cluster.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { key: server.adminToken } },
  )
})
afterAll(async () => {
  await helm?.run('uninstall', 'one', '--namespace', NAMESPACE, '--no-hooks', '--ignore-not-found').catch(() => '')
  await scene?.cluster.kubectl('delete', 'namespace', NAMESPACE, '--ignore-not-found', '--wait=false')
  await scene?.cluster.kubectl('delete', 'persistentvolumes', '--selector', `pod_namespace=${NAMESPACE}`)
  await helm?.close()
  await scene?.close()
  await server?.[Symbol.asyncDispose]()
  if (folder !== '') rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

const kubectl = (...args: string[]): Promise<string> => scene.cluster.kubectl('--namespace', NAMESPACE, ...args)

async function install(more: object = {}): Promise<void> {
  const values = await helm.values({
    global: { codefreshHost: server.server.url, codefreshTokenSecretKeyRef: { name: 'api-key', key: 'key' }, context: CONTEXT },
    // Hooks of parts that have tests of their own.
    runtime: { patch: { enabled: false }, gencerts: { enabled: false } },
    storage: { local: { volumeParentDir: join(folder, 'disks') } },
    // The disk of this machine may be full.
    volumeProvisioner: { 'dind-lv-monitor': { enabled: false } },
    gitlab: {
      enabled: true,
      gitlabUrl: scene.coordinator.url,
      runnerToken: TOKEN,
      checkInterval: 1,
      runners: {
        jobNamespace: JOBS,
        config: `[[runners]]\n  [runners.kubernetes]\n    namespace = "{{ .Values.runners.jobNamespace }}"\n    image = "${scene.image}"\n    pod_termination_grace_period_seconds = 1\n`,
      },
    },
    ...more,
  })
  const where = ['--namespace', NAMESPACE, '--values', values, '--wait', '--timeout', '300s']
  await helm.run('upgrade', '--install', 'one', CHART, ...where).catch(async (error: unknown) => {
    const pods = await kubectl('get', 'pods', '--output', 'wide')
    const logs = await kubectl('logs', '--selector', 'app=runner', '--all-containers', '--prefix').catch(String)
    throw new Error(`${String(error)}\n${pods}\n${logs}`, { cause: error })
  })
}

async function reported(job: FakeJob, state: GitlabJob['state']): Promise<GitlabJob> {
  const { id } = job.payload
  return eventually(`the server has job ${id} as ${state}`, async () =>
    (await server.admin.gitlabJobs.list()).items.find((each) => each.number === id && each.state === state),
  )
}

/** Prints a line, and ends when the file is there. */
const UNTIL = ['echo started; until [ -e /tmp/go ]; do sleep 0.2; done; echo went']
const letGo = ({ pod = '' }: GitlabJob): Promise<void> => touchInJob(scene.kubectl, pod)
const runnerPods = async (): Promise<string[]> =>
  (await kubectl('get', 'pods', '--selector', 'app=runner', '--output', 'name')).split('\n').filter((line) => line !== '')

const Status = z.object({
  status: z.object({
    podIP: z.string(),
    containerStatuses: z.array(z.object({ name: z.string(), ready: z.boolean(), restartCount: z.number() })),
  }),
})

/** Returns the line of a metric of the agent. */
async function agentMetric(name: string): Promise<string | undefined> {
  const [pod = ''] = await runnerPods()
  const { podIP } = Status.parse(JSON.parse(await kubectl('get', pod, '--output', 'json'))).status
  const metrics = await (await fetch(`http://${podIP}:8080/metrics`)).text()
  return metrics.split('\n').find((line) => line.startsWith(`${name} `))
}

test('one release runs a build and a GitLab job at the same time, and an upgrade ends neither (G107)', async () => {
  await install()
  const job = scene.enqueue(UNTIL)
  const build = await server.admin.builds.create({
    document: JSON.stringify({ version: '1.0', steps: { only: { image: images['TOOLS_IMAGE'], commands: ['echo built'] } } }),
    runtime: RUNTIME,
  })
  const running = await reported(job, 'running')
  expect(running).toMatchObject({ namespace: JOBS, gitlab: scene.coordinator.url })
  const status = await eventually(
    'the build ends',
    async () => {
      const now = (await server.admin.builds.get(build.id)).status
      return ['success', 'error', 'terminated'].includes(now) ? now : undefined
    },
    300_000,
  )
  expect(status, await server.admin.builds.log(build.id)).toBe('success')
  await reported(job, 'running')
  const [manager] = (await server.admin.gitlabJobs.managers()).items
  expect(manager).toMatchObject({ agent: AGENT, status: 'online', jobs: 1, isAsking: true })
  expect(manager).not.toHaveProperty('key')
  const user = {
    WINDLASS_URL: server.server.url,
    WINDLASS_API_KEY: server.adminToken,
    WINDLASS_CONFIG: join(folder, 'config.yaml'),
  }
  const doctor = await runProgram(WINDLASS, ['doctor', '--agent', AGENT], { env: { ...process.env, ...user, NO_COLOR: '1' } })
  expect(doctor).toContain(`GitLab manager  ${manager?.id} asks GitLab for jobs, and has 1 job`)

  // The new pod works while the job of the old one runs, and its agent has taken over.
  const before = await runnerPods()
  await install({ runner: { podAnnotations: { turn: '2' } } })
  const { status: agent } = await server.admin.agents.get(AGENT)
  expect(agent).toBe('online')
  expect(await runnerPods()).toEqual(expect.arrayContaining(before))
  const second = scene.enqueue(['echo second'])
  expect((await scene.ended(second)).final).toMatchObject({ state: 'success' })
  expect(await reported(second, 'success')).toMatchObject({ manager: expect.not.stringMatching(running.manager) })
  await letGo(running)
  expect((await scene.ended(job)).final, job.trace.toString()).toMatchObject({ state: 'success' })
  expect(job.trace.toString()).toContain('went')
  expect(await reported(job, 'success')).toMatchObject({ id: running.id, manager: running.manager })
  await eventually('the old pod is gone', async () => {
    const now = await runnerPods()
    return before.every((name) => !now.includes(name)) ? true : undefined
  })
})

test('agent and manager have only their own rights (G107)', async () => {
  const canI = (account: string, what: readonly string[], namespace: string): Promise<string> =>
    scene.cluster
      .kubectl('auth', 'can-i', ...what, '--namespace', namespace, `--as=system:serviceaccount:${NAMESPACE}:${account}`)
      .then(
        () => 'yes',
        () => 'no',
      )
  const [exec, pods, secrets] = [
    ['create', 'pods', '--subresource', 'exec'],
    ['create', 'pods'],
    ['list', 'secrets'],
  ] as const
  const rightsOf = async (account: string): Promise<string[]> =>
    Promise.all([exec, pods, secrets].flatMap((what) => [canI(account, what, JOBS), canI(account, what, NAMESPACE)]))
  expect(await rightsOf('one-gitlab-runner')).toEqual(['yes', 'no', 'yes', 'no', 'yes', 'no'])
  expect(await rightsOf('one-runner')).toEqual(['no', 'no', 'no', 'yes', 'no', 'yes'])
})

test('a manager that ends is started again, and its agent does not notice (G107)', async () => {
  const [pod = ''] = await runnerPods()
  const epoch = await agentMetric('windlass_agent_epoch')
  await kubectl('exec', pod, '--container', 'gitlab-runner', '--', 'sh', '-c', 'kill -QUIT 1')
  const restarts = await eventually('the manager runs again', async () => {
    const { containerStatuses } = Status.parse(JSON.parse(await kubectl('get', pod, '--output', 'json'))).status
    const isAgain = containerStatuses.some(
      ({ name, ready, restartCount }) => name === 'gitlab-runner' && ready && restartCount > 0,
    )
    return isAgain ? Object.fromEntries(containerStatuses.map(({ name, restartCount }) => [name, restartCount])) : undefined
  })
  expect(restarts).toEqual({ runner: 0, 'gitlab-runner': 1 })
  expect(await agentMetric('windlass_agent_epoch')).toBe(epoch)
  const job = scene.enqueue(['echo after the restart'])
  expect((await scene.ended(job)).final, job.trace.toString()).toMatchObject({ state: 'success' })
})

test('an uninstall lets the running job end, and leaves nothing of the agent and of the manager (G107)', async () => {
  const job = scene.enqueue(['echo started; sleep 6; echo slept'])
  await reported(job, 'running')
  await helm.run('uninstall', 'one', '--namespace', NAMESPACE, '--wait', '--timeout', '300s')
  expect((await scene.ended(job)).final, job.trace.toString()).toMatchObject({ state: 'success' })
  await reported(job, 'success')
  await expect(server.admin.agents.get(AGENT)).rejects.toMatchObject({ code: 'not-found' })
  await expect(server.admin.runtimes.get(RUNTIME)).rejects.toMatchObject({ code: 'not-found' })
  await eventually('nothing is left', async () => {
    const jobs = await Promise.all(['pods', 'secrets', 'leases'].map((kind) => scene.names(kind)))
    const kinds = ['pods', 'jobs', 'deployments', 'serviceaccounts', 'secrets', 'configmaps']
    const own = await Promise.all(kinds.map((kind) => scene.names(kind, NAMESPACE)))
    const expected = ['secret/api-key', 'serviceaccount/default', 'configmap/kube-root-ca.crt']
    return [...jobs.flat(), ...own.flat()].every((name) => expected.includes(name)) ? true : undefined
  })
  expect((await scene.names('roles')).join()).not.toContain('one-gitlab-runner')
})
