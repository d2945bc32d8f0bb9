/** A manager of GitLab runners on the one-node cluster, with a fake coordinator and a git server that pods reach. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CLUSTER_HOST, startCluster, type Cluster } from '../../support/cluster.ts'
import { startGitServer } from '../../support/git-server.ts'
import { ensureImages } from '../../support/images.ts'
import { eventually, isOk } from '../../support/installation.ts'
import { freePort, startService, type Service } from '../../support/process.ts'
import { WINDLASS } from '../../support/programs.ts'
import { applyRoles } from '../../support/roles.ts'
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
  /** Starts a manager. Managers with the same name share their configuration and system ID. */
  startManager(options?: ManagerSettings): Promise<Manager>
  /** Adds a job with a script for the next request. */
  enqueue(script: readonly string[], more?: Readonly<Record<string, unknown>>): FakeJob
  /** Resolves when the coordinator has the final state of a job. Throws if the runner broke a rule of GitLab. */
  ended(job: FakeJob, timeoutMs?: number): Promise<FakeJob>
  kubectl(...args: string[]): Promise<string>
  /** Names of objects of a kind. */
  names(kind: string): Promise<string[]>
  close(): Promise<void>
}

export interface ManagerSettings {
  readonly name?: string
  /** Lines of `[[runners]]`. */
  readonly runner?: string
  /** Lines of `[runners.kubernetes]`, and tables below it. */
  readonly kubernetes?: string
  readonly concurrent?: number
  /** Default: `TOKEN`. */
  readonly token?: string
  /** Further words of the command line. */
  readonly words?: readonly string[]
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
  const coordinator = await startFakeCoordinator({ host: CLUSTER_HOST, holdMs: 20_000, ...(tls !== undefined && { tls }) })
  const managers: Service[] = []
  let jobs = 0

  async function startManager({
    name = 'one',
    runner = '',
    kubernetes = '',
    concurrent = 10,
    token = TOKEN,
    words = [],
  }: ManagerSettings = {}): Promise<Manager> {
    const configFile = join(folder, name, 'config.toml')
    mkdirSync(join(dirname(configFile), 'certs'), { recursive: true })
    if (tls !== undefined) writeFileSync(join(dirname(configFile), 'certs', `${CLUSTER_HOST}.crt`), tls.cert)
    // Without it, all managers have the system ID of this machine. One that starts again keeps its own.
    const idFile = join(dirname(configFile), '.runner_system_id')
    const id = `r_${createHash('sha256').update(name).digest('hex').slice(0, 12)}\n`
    if (!existsSync(idFile)) writeFileSync(idFile, id)
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
      env: { KUBECONFIG: kubeconfig, NO_COLOR: '1' },
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
    async ended(job, timeoutMs = 120_000) {
      await eventually(`job ${job.payload.id} ends`, async () => job.final, timeoutMs).catch((error: unknown) => {
        const logs = managers.map((service) => service.log()).join('\n')
        throw new Error(`${String(error)}\n${job.trace.toString()}\n${logs}`, { cause: error })
      })
      if (job.violations.length > 0) throw new Error(`the runner broke rules of GitLab: ${job.violations.join('; ')}`)
      return job
    },
    kubectl: (...args) => cluster.kubectl('--namespace', namespace, ...args),
    names: async (kind) =>
      (await cluster.kubectl('--namespace', namespace, 'get', kind, '--output', 'name'))
        .split('\n')
        .filter((line) => line !== ''),
    async close() {
      for (const service of managers) await service.stop('SIGKILL')
      await coordinator.close()
      await git.close()
      await cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

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

/** Creates the namespace, and an account with the rights of the manager. Returns the path of its kubeconfig. */
async function installAccount(cluster: Cluster, { namespace, folder }: { namespace: string; folder: string }): Promise<string> {
  const name = 'windlass-gitlab-runner'
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await applyRoles(cluster, join(root, 'packages/gitlab/rbac/role.yaml'), { namespace, clusterRole: namespace })
  await cluster.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name, namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  )
  const token = await cluster.kubectl('--namespace', namespace, 'create', 'token', name, '--duration=2h')
  const admin: { clusters: { name: string }[] } = JSON.parse(await cluster.kubectl('config', 'view', '--raw', '--output', 'json'))
  const config = {
    ...admin,
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: admin.clusters[0]?.name, user: name, namespace } }],
    'current-context': name,
  }
  const path = join(folder, 'runner.kubeconfig')
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 })
  return path
}
