/** The agent on a real cluster: runtimes from files, protocol v1, replicas, and recovery after downtime. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openFakePlatform, type FakePlatform } from '../../../packages/agent/test/support/fake-platform.ts'
import { startAgentProcess, type AgentProcess } from '../../../packages/agent/test/support/agent-process.ts'
import { eventually, type Installation, startInstallation } from '../../support/installation.ts'
import { applyRoles } from '../../support/roles.ts'

const HOME = `agent-${process.pid}`
/** A second namespace simulates a second cluster: it is reached by its own host, token and CA. */
const AWAY = `agent-${process.pid}-away`

let installation: Installation
let dir: string
let folder: string

beforeAll(async () => {
  installation = await startInstallation(HOME)
  const { cluster } = installation
  folder = dirname(await installation.file('folder', ''))
  dir = join(folder, 'runtimes')
  await mkdir(dir)
  const account = (name: string): object => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: AWAY } })
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: AWAY } })
  const file = join(import.meta.dirname, '../../../packages/agent/rbac/role.yaml')
  await applyRoles(cluster, file, { namespace: AWAY, clusterRole: AWAY })
  await cluster.apply(
    account('windlass-agent'),
    account('windlass-engine'),
    binding('RoleBinding', { kind: 'Role', name: 'windlass-agent' }),
    binding('ClusterRoleBinding', { kind: 'ClusterRole', name: AWAY }),
  )
})
afterAll(async () => {
  const kubectl = installation?.cluster.kubectl
  await kubectl?.('delete', 'namespace', AWAY, '--wait=false')
  await kubectl?.('delete', 'clusterrole,clusterrolebinding', AWAY)
  await kubectl?.('delete', 'persistentvolumes', '--selector', `pod_namespace=${AWAY}`, '--wait=false')
  await installation?.close()
})

function binding(kind: string, role: { kind: string; name: string }): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name: AWAY, ...(kind === 'RoleBinding' && { namespace: AWAY }) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...role },
    subjects: [{ kind: 'ServiceAccount', name: 'windlass-agent', namespace: AWAY }],
  }
}

/** Writes the file of a runtime in the second namespace, as an installer does. */
async function addRuntimeFile(name: string, host?: string): Promise<void> {
  const { kube, access } = installation.cluster
  const { token } = await kube.issueToken({ kind: 'ServiceAccount', namespace: AWAY, name: 'windlass-agent' }, 3_600)
  const text = JSON.stringify({ type: 'runtime', name, host: host ?? access.server, token, crt: access.ca })
  await writeFile(join(dir, `${name.replaceAll(/[/@:]/g, '.')}.runtime.yaml`), text)
}

async function applyRuntime(name: string, agent: string): Promise<void> {
  const spec = {
    runtimeScheduler: { cluster: { namespace: AWAY } },
    dockerDaemonScheduler: { pvcs: { dind: { storageClassName: `dind-${AWAY}` } } },
  }
  await installation.client.runtimes.put(name, { name, type: 'kubernetes', agent, spec })
}

/** Starts a build of one step and returns its id. */
async function start(runtime: string, command: string): Promise<string> {
  const steps = { work: { image: installation.images['TOOLS_IMAGE'], commands: [command] } }
  const { id } = await installation.client.builds.create({ document: JSON.stringify({ version: '1.0', steps }), runtime })
  return id
}

const Build = z.object({
  status: z.string(),
  attempt: z.int(),
  attempts: z.array(z.object({ message: z.string().nullish() })).optional(),
})

async function buildThat(id: string, is: (build: z.infer<typeof Build>) => boolean): Promise<z.infer<typeof Build>> {
  return eventually(
    `build ${id} gets on`,
    async () => {
      const build = await installation.client.builds.get(id)
      return is(build) ? build : undefined
    },
    300_000,
  )
}

const isFinal = ({ status }: { status: string }): boolean => ['success', 'error', 'terminated'].includes(status)

test('one agent serves runtimes of several clusters, picks up new ones while it runs, and is not blocked by an unreachable one (R144, R146)', async () => {
  const [near, late, gone] = [`near/${AWAY}`, `late/${AWAY}`, `gone/${AWAY}`]
  const { token } = await installation.client.agents.create({ name: 'many', runtimes: [near] })
  for (const name of [near, late, gone]) await applyRuntime(name, 'many')
  await addRuntimeFile(near)
  await addRuntimeFile(gone, 'https://127.0.0.1:1')
  await using agent = await startAgentProcess({
    WINDLASS_AGENT_SERVER_URL: installation.url,
    WINDLASS_AGENT_TOKEN: token,
    WINDLASS_AGENT_CONFIG_DIR: dir,
    WINDLASS_AGENT_VOLUME_DIR: join(folder, 'volumes-away'),
    WINDLASS_AGENT_STORAGE_CLASSES: `dind-${AWAY}`,
    WINDLASS_AGENT_SWEEP_MS: '2000',
  })
  await eventually('the agent is ready', async () =>
    (await fetch(`${agent.health}/readyz`).catch(() => undefined))?.ok === true ? true : undefined,
  )
  const stuck = await start(gone, 'echo never')
  const fine = await start(near, 'echo fine')
  expect(await buildThat(fine, isFinal), agent.log().slice(-2_000)).toMatchObject({ status: 'success', attempt: 1 })
  expect(isFinal(await installation.client.builds.get(stuck))).toBe(false)
  await addRuntimeFile(late)
  await eventually('the new runtime', async () => (agent.log().includes(`"runtime":"${late}"`) ? true : undefined))
  const second = await start(late, 'echo late')
  expect(await buildThat(second, isFinal), agent.log().slice(-2_000)).toMatchObject({ status: 'success', attempt: 1 })
  await installation.client.builds.terminate(stuck)
  // No other agent removes what is left there.
  await eventually('the pods of its builds are gone', async () => ((await away()).length === 0 ? true : undefined))
  await rm(dir, { recursive: true })
  await mkdir(dir)
})

/** Returns the names of the pods and then of the claims in the second namespace. */
async function away(labels?: string): Promise<string[]> {
  const kinds = ['Pod', 'PersistentVolumeClaim'] as const
  return (await Promise.all(kinds.map((kind) => installation.cluster.names({ kind, namespace: AWAY, labels })))).flat()
}

let count = 0

function task(type: string, spec: object): { _id: string } {
  count += 1
  const metadata = {
    createdAt: new Date(2026, 0, count).toISOString(),
    reName: `near/${AWAY}`,
    workflowId: '65f0a1b2c3d4e5f607182930',
    currentStatusRevision: 0,
    shouldReportStatus: true,
  }
  return Object.assign({ _id: `task-${count}` }, { type, metadata, spec })
}

async function play(platform: FakePlatform, agent: AgentProcess, ...tasks: { _id: string }[]): Promise<unknown[]> {
  platform.script.push(tasks)
  return eventually(`reports, but the agent says ${agent.log().slice(-500)}`, async () => {
    const reports = tasks.map(({ _id }) => platform.reportsOf(_id)[0])
    return reports.every((report) => report !== undefined) ? reports.map((report) => report?.['status']) : undefined
  })
}

async function v1Agent(platform: FakePlatform, name: string, more: Record<string, string> = {}): Promise<AgentProcess> {
  return startAgentProcess(
    {
      CODEFRESH_TOKEN: 'token',
      CODEFRESH_HOST: platform.url,
      AGENT_ID: 'away',
      VENONA_CONFIG_DIR: dir,
      TASK_PULLING_INTERVAL: '0.2',
      WINDLASS_AGENT_STATE_DIR: join(folder, name),
      // The objects of a foreign platform are not ours.
      WINDLASS_AGENT_POLICY: 'permissive',
      WINDLASS_AGENT_SERVICE_ACCOUNTS: 'default',
      ...more,
    },
    'start',
  )
}

test('tasks of protocol v1 create and remove objects of a real cluster with only the rights of the role (R121, R226, R227, R234, A02, A04, A11, A12, A26)', async () => {
  await using platform = await openFakePlatform()
  await addRuntimeFile(`near/${AWAY}`)
  await using agent = await v1Agent(platform, 'v1', { FORCE_DELETE_PVC: 'true' })
  const workflow = '65f0a1b2c3d4e5f607182930'
  const metadata = (name: string): object => ({ name, namespace: AWAY, labels: { workflow } })
  const container = {
    name: 'main',
    image: installation.images['WINDLASS_IMAGE'],
    command: ['sleep', '300'],
    imagePullPolicy: 'Never',
  }
  const pod = (name: string): object => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadata(name),
    spec: { containers: [container], terminationGracePeriodSeconds: 1 },
  })
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: metadata('pvc-dind'),
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'none', resources: { requests: { storage: '1Gi' } } },
  }
  const create = [task('CreatePod', pod('engine')), task('CreatePod', pod('dind')), task('CreatePvc', claim)]
  expect(await play(platform, agent, ...create)).toEqual(['Success', 'Success', 'Success'])
  expect(await away(`workflow=${workflow}`)).toEqual(['dind', 'engine', 'pvc-dind'])
  // The same again, as after a lost report.
  expect(await play(platform, agent, task('CreatePod', pod('engine')), task('CreatePvc', claim))).toEqual(['Success', 'Success'])
  const refs = [
    { Name: 'engine', Namespace: AWAY },
    { name: 'dind', namespace: AWAY },
    { Name: 'absent', Namespace: AWAY },
  ]
  const remove = refs.map((ref) => task('DeletePod', ref))
  const statuses = await play(platform, agent, task('DeletePvc', { Name: 'pvc-dind', Namespace: AWAY }), ...remove)
  expect(statuses).toEqual(['Success', 'Success', 'Success', 'Success'])
  await eventually('all are gone', async () => ((await away()).length === 0 ? true : undefined))
})

test('of two replicas of protocol v1 with one Lease, the standby takes over when the active one is killed', async () => {
  await using platform = await openFakePlatform()
  await addRuntimeFile(`near/${AWAY}`)
  const kubeconfig = join(folder, 'agent.kubeconfig')
  const replica = { WINDLASS_AGENT_LEASE: 'on', WINDLASS_AGENT_KUBECONFIG: kubeconfig, AGENT_ID: 'Replica/One' }
  await using first = await v1Agent(platform, 'replica-1', replica)
  await eventually(`polls, but the agent says ${first.log()}`, async () => (platform.polls.length > 0 ? true : undefined))
  await using second = await v1Agent(platform, 'replica-2', replica)
  await eventually('the second one waits', async () =>
    second.log().includes('another process holds the lease') ? true : undefined,
  )
  expect(await (await fetch(`${second.health}/metrics`)).text()).toContain('windlass_agent_leader 0')
  expect(await installation.kubectl('get', 'leases', '--output', 'name')).toContain(
    'lease.coordination.k8s.io/windlass-agent-replica-one',
  )
  first.kill('SIGKILL')
  await first.ended()
  const before = platform.polls.length
  await eventually('the second one polls', async () => (platform.polls.length > before ? true : undefined))
})

const Phase = z.object({ status: z.object({ phase: z.string() }) })

test('an agent reports after kill -9 what happened to an attempt meanwhile', async () => {
  // Long enough for the agent and the pod to be ended on a busy machine.
  const id = await start(HOME, 'sleep 25')
  const pod = `engine-${id}`
  const { kube } = installation.cluster
  const phase = async (): Promise<string | undefined> =>
    Phase.safeParse(await kube.find({ kind: 'Pod', namespace: HOME, name: pod })).data?.status.phase
  await eventually('the engine runs', async () => ((await phase()) === 'Running' ? true : undefined))
  await buildThat(id, ({ status }) => status === 'running')
  await installation.agent.kill9()
  await installation.kubectl('patch', 'pod', pod, '--patch', JSON.stringify({ spec: { activeDeadlineSeconds: 1 } }))
  await eventually('the pod ends', async () => ((await phase()) === 'Failed' ? true : undefined))
  await installation.agent.start()
  const build = await buildThat(id, isFinal)
  expect(build).toMatchObject({ status: 'success', attempt: 2 })
  // The message of the cluster, not only the silence of the engine.
  expect(build.attempts?.[0]?.message).toContain('DeadlineExceeded')
})
