/** A manager of GitLab runners on the one-node cluster, with a fake coordinator and a git server that pods reach. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Kind } from '@windlass/kube'
import { writeKubeconfig } from '../../support/account.ts'
import { CLUSTER_HOST, startCluster, type Cluster } from '../../support/cluster.ts'
import { startGitServer } from '../../support/git-server.ts'
import { ensureImages } from '../../support/images.ts'
import { eventually, isOk } from '../../support/installation.ts'
import { freePort, startService, type Service } from '../../support/process.ts'
import { WINDLASS } from '../../support/programs.ts'
import { applyRoles, readRoles } from '../../support/roles.ts'
import { startFakeCoordinator, type FakeCoordinator, type FakeJob } from './fake-coordinator.ts'
import { TOKEN } from './coordinator-pair.ts'

const root = join(import.meta.dirname, '../../..')

export interface RunnerScene {
  readonly cluster: Cluster
  readonly namespace: string
  readonly coordinator: FakeCoordinator
  /** Commit of the repository. */
  readonly sha: string
  /** Image of jobs. */
  readonly image: string
  /** Path of the kubeconfig of managers. */
  readonly kubeconfig: string
  /** Starts a manager. Managers with the same name share their configuration and system ID. */
  startManager(options?: ManagerSettings): Promise<Manager>
  /** Adds a job with a script for the next request. */
  enqueue(script: readonly string[], more?: Readonly<Record<string, unknown>>): FakeJob
  /** Resolves when the coordinator has the final state of a job. Throws if the runner broke a rule of GitLab. */
  ended(job: FakeJob): Promise<FakeJob>
  kubectl(...args: string[]): Promise<string>
  /** Returns whether managers have a right, in words of `kubectl auth can-i`. A change counts some time after the API server has answered it. */
  may(...words: string[]): Promise<boolean>
  /** Names of objects of a kind, in the namespace of the scene by default. */
  names(kind: string, namespace?: string): Promise<string[]>
  /** Creates a namespace for jobs beside that of the scene, with only the rights of `other-namespace.yaml`. Returns its name. */
  addNamespace(suffix: string): Promise<string>
  /** Gives managers the rights that `namespace_per_job` needs. */
  allowNamespaces(): Promise<void>
  /** Returns the logs of all managers. */
  log(): string
  close(): Promise<void>
}

export interface ManagerSettings {
  readonly name?: string
  /** Default: `systemIdOf` the name. */
  readonly systemId?: string
  /** Lines of `[[runners]]`. */
  readonly runner?: string
  /** Lines of `[runners.kubernetes]`, and tables below it. */
  readonly kubernetes?: string
  readonly concurrent?: number
  /** Default: `TOKEN`. */
  readonly token?: string
  /** Further words of the command line. */
  readonly words?: readonly string[]
  /** Default: that of the scene. */
  readonly kubeconfig?: string
  /** Further variables of its environment. */
  readonly env?: Readonly<Record<string, string>>
}

export interface SceneOptions {
  /** Certificate and key of the coordinator; managers trust it. Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

export interface Manager {
  readonly service: Service
  readonly configFile: string
  /** URL of metrics and health. */
  readonly url: string
}

/** Opens the scene in a namespace of its own. */
export async function openRunnerScene(namespace: string, { tls }: SceneOptions = {}): Promise<RunnerScene> {
  const images = await ensureImages('debian', 'gitlab-helper')
  const [image = '', helperImage = ''] = [images['DEBIAN_IMAGE'], images['GITLAB_HELPER_IMAGE']]
  const cluster = await startCluster()
  await cluster.load(image, helperImage)
  const folder = mkdtempSync(join(tmpdir(), `${namespace}-`))
  const kubeconfig = await installAccount(cluster, { namespace, folder })
  const sha = makeRepository(folder)
  const git = await startGitServer({ root: join(folder, 'repositories'), host: CLUSTER_HOST })
  const coordinator = await startFakeCoordinator({
    host: CLUSTER_HOST,
    // Reserved: the kernel may give a port of its own range to another process while the coordinator is down.
    port: await freePort(),
    holdMs: 20_000,
    ...(tls !== undefined && { tls }),
  })
  const managers: Service[] = []
  const added: string[] = []
  const clusterRoles: string[] = []
  let jobs = 0
  const may = (...words: string[]): Promise<boolean> =>
    cluster.kubectl('auth', 'can-i', ...words, `--as=system:serviceaccount:${namespace}:${ACCOUNT}`).then(
      () => true,
      () => false,
    )
  const untilAllowed = (...words: string[]): Promise<true> =>
    eventually(`managers may ${words.join(' ')}`, async () => ((await may(...words)) ? true : undefined))
  const allLogs = (): string => managers.map((service) => service.log()).join('\n')

  async function startManager({
    name = 'one',
    systemId = systemIdOf(name),
    runner = '',
    kubernetes = '',
    concurrent = 10,
    token = TOKEN,
    words = [],
    kubeconfig: access = kubeconfig,
    env = {},
  }: ManagerSettings = {}): Promise<Manager> {
    const configFile = join(folder, name, 'config.toml')
    mkdirSync(join(dirname(configFile), 'certs'), { recursive: true })
    if (tls !== undefined) writeFileSync(join(dirname(configFile), 'certs', `${CLUSTER_HOST}.crt`), tls.cert)
    // So tests know it. A manager that starts again keeps its own.
    const idFile = join(dirname(configFile), '.runner_system_id')
    if (!existsSync(idFile)) writeFileSync(idFile, `${systemId}\n`)
    const port = await freePort()
    writeFileSync(
      configFile,
      `concurrent = ${concurrent}\ncheck_interval = 1\nlisten_address = "127.0.0.1:${port}"\n[[runners]]\nname = "${name}"\nurl = "${coordinator.url}"\nid = 7\ntoken = "${token}"\nexecutor = "kubernetes"\n` +
        `request_concurrency = 4\n${runner}\n[runners.kubernetes]\nnamespace = "${namespace}"\nhelper_image = "${helperImage}"\npod_termination_grace_period_seconds = 1\n${kubernetes}\n`,
    )
    const url = `http://127.0.0.1:${port}`
    const service = await startService({
      command: WINDLASS,
      args: ['gitlab', 'run', '--config', configFile, ...words],
      env: { KUBECONFIG: access, NO_COLOR: '1', ...env },
      ready: () => isOk(`${url}/health/ready`),
    })
    managers.push(service)
    return { service, configFile, url }
  }

  return {
    cluster,
    namespace,
    coordinator,
    sha,
    image,
    kubeconfig,
    startManager,
    enqueue(script, more = {}) {
      jobs += 1
      const id = 1_000 + jobs
      return coordinator.enqueue({
        id,
        token: `glcbt-job-${id}`,
        job_info: { name: `job-${id}`, stage: 'test', project_id: 5, project_name: 'app', project_full_path: 'demo/app' },
        git_info: {
          repo_url: `${git.url}/demo/app.git`,
          ref: 'main',
          ref_type: 'branch',
          sha,
          refspecs: ['+refs/heads/main:refs/remotes/origin/main'],
          depth: 20,
        },
        runner_info: { timeout: 600 },
        image: { name: image },
        steps: [{ name: 'script', script, timeout: 600, when: 'on_success', allow_failure: false }],
        features: { trace_sections: true, failure_reasons: ALL_REASONS },
        ...more,
      })
    },
    async ended(job) {
      await eventually(`job ${job.payload.id} ends`, async () => job.final, ENDED_MS).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${job.trace.toString()}\n${allLogs()}`, { cause: error })
      })
      if (job.violations.length > 0) throw new Error(`the runner broke rules of GitLab: ${job.violations.join('; ')}`)
      return job
    },
    kubectl: (...args) => cluster.kubectl('--namespace', namespace, ...args),
    may,
    async names(kind, where = namespace) {
      const polled = POLLED[kind]
      if (polled === undefined) {
        const output = await cluster.kubectl('--namespace', where, 'get', kind, '--output', 'name')
        return output.split('\n').filter((line) => line !== '')
      }
      const names = await cluster.names({ kind: polled.kind, namespace: where })
      return names.map((name) => `${polled.prefix}/${name}`)
    },
    async addNamespace(suffix) {
      const name = `${namespace}-${suffix}`
      added.push(name)
      await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      await applyRoles(cluster, roleFile('other-namespace.yaml'), { namespace: name, clusterRole: name })
      await cluster.apply(bindingOf({ name: 'windlass-gitlab-jobs', namespace: name, kind: 'Role' }, namespace))
      await untilAllowed('create', 'pods', '--namespace', name)
      return name
    },
    async allowNamespaces() {
      const [jobsRole, namespaces] = [`${namespace}-jobs`, `${namespace}-namespaces`]
      clusterRoles.push(jobsRole, namespaces)
      await applyRoles(cluster, roleFile('namespace-per-job.yaml'), { namespace, clusterRole: namespaces })
      // The namespaces do not exist yet, so the rules of their Role are those of a ClusterRole.
      const [role] = await readRoles(roleFile('other-namespace.yaml'))
      await cluster.apply({ ...role, kind: 'ClusterRole', metadata: { name: jobsRole } })
      for (const name of clusterRoles)
        await cluster.apply(bindingOf({ name, namespace: undefined, kind: 'ClusterRole' }, namespace))
      await untilAllowed('create', 'namespaces')
      await untilAllowed('create', 'pods', '--all-namespaces')
    },
    log: allLogs,
    async close() {
      for (const service of managers) await service.stop('SIGKILL')
      await coordinator.close()
      await git.close()
      for (const name of [namespace, ...added]) await cluster.kube.delete({ kind: 'Namespace', name })
      for (const kind of ['ClusterRole', 'ClusterRoleBinding'] as const)
        for (const name of clusterRoles) await cluster.kube.delete({ kind, name })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the system ID of the managers with a name. */
export function systemIdOf(name: string): string {
  return `r_${createHash('sha256').update(name).digest('hex').slice(0, 12)}`
}

/** Kinds that tests list again and again, with their names for kubectl. */
const POLLED: Readonly<Record<string, { readonly kind: Kind; readonly prefix: string }>> = {
  pods: { kind: 'Pod', prefix: 'pod' },
  secrets: { kind: 'Secret', prefix: 'secret' },
  leases: { kind: 'Lease', prefix: 'lease.coordination.k8s.io' },
  namespaces: { kind: 'Namespace', prefix: 'namespace' },
}

/** Longest time until a job has ended, with another manager that takes it over. Milliseconds. */
const ENDED_MS = 300_000

/** What a current GitLab lists in `features.failure_reasons`. */
const ALL_REASONS = [
  'unknown_failure',
  'script_failure',
  'runner_system_failure',
  'job_execution_timeout',
  'image_pull_failure',
  'runner_configuration_error',
  'runner_external_dependency_failure',
  'runner_interrupted',
]

function makeRepository(folder: string): string {
  const git = (cwd: string, ...words: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.test', ...words], { cwd, encoding: 'utf8' }).trim()
  const [bare, work] = [join(folder, 'repositories/demo/app.git'), join(folder, 'work')]
  mkdirSync(dirname(bare), { recursive: true })
  mkdirSync(work)
  git(folder, 'init', '--quiet', '--bare', '--initial-branch=main', bare)
  git(folder, 'init', '--quiet', '--initial-branch=main', work)
  writeFileSync(join(work, 'greeting.txt'), 'hello from the repository\n')
  git(work, 'add', '--all')
  git(work, 'commit', '--quiet', '--message', 'first')
  git(work, 'push', '--quiet', bare, 'main')
  return git(work, 'rev-parse', 'HEAD')
}

/** Name of the account of managers, and of its Role. */
const ACCOUNT = 'windlass-gitlab-runner'
const roleFile = (name: string): string => join(root, 'packages/gitlab/rbac', name)

/** Returns the binding of a role to the account of managers, which is in the namespace `home`. */
function bindingOf(role: { name: string; namespace: string | undefined; kind: 'Role' | 'ClusterRole' }, home: string): object {
  const { name, namespace, kind } = role
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: `${kind}Binding`,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
    subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: home }],
  }
}

/** Creates the namespace, and an account with the rights of the manager. Returns the path of its kubeconfig. */
async function installAccount(cluster: Cluster, { namespace, folder }: { namespace: string; folder: string }): Promise<string> {
  const name = ACCOUNT
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await applyRoles(cluster, roleFile('role.yaml'), { namespace, clusterRole: namespace })
  await cluster.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    bindingOf({ name, namespace, kind: 'Role' }, namespace),
  )
  const rights = [{ verb: 'create', group: '', resource: 'pods', namespace }]
  return writeKubeconfig(cluster, { namespace, name, rights }, join(folder, 'runner.kubeconfig'))
}
